#pragma once

// States of the session and of symbols in multicast PITCH, and figures of futures: settlements,
// prices of the day, limits. Each function sends the events of a message to its sink, and returns
// why the message does not fit, or an empty text.

#include <string_view>

#include "feed/market/pitch/pitch_message.h"

namespace tickstack::feed::market {

std::string_view DecodePitchEndOfSession(PitchMessage& message);
// The reason has the Reg SHO action, and of options the state in global trading hours.
std::string_view DecodePitchTradingStatus(PitchMessage& message);
std::string_view DecodePitchRetail(PitchMessage& message);
std::string_view DecodePitchSettlement(PitchMessage& message);
// Four events: the high, low, open and close of a future.
std::string_view DecodePitchDaySummary(PitchMessage& message);
// Two events: the high and low limit of a future.
std::string_view DecodePitchPriceLimits(PitchMessage& message);

}  // namespace tickstack::feed::market
