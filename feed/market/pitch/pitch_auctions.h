#pragma once

// Auctions in multicast PITCH. Each function sends the event of a message to its sink, and returns
// why the message does not fit, or an empty text.

#include <string_view>

#include "feed/market/pitch/pitch_message.h"

namespace tickstack::feed::market {

// The state of an auction: 47 bytes, or 64 with the state and the collars of options.
std::string_view DecodePitchAuctionUpdate(PitchMessage& message);
// The result of an auction.
std::string_view DecodePitchAuctionSummary(PitchMessage& message);

}  // namespace tickstack::feed::market
