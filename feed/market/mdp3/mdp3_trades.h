#pragma once

// Trades of MDP 3.0. `kLong`: a later layout, whose sizes have 8 bytes.
// Each function sends the events of a message, and returns why it does not fit, or an empty text
// (mdp3_message.h).

#include <string_view>

#include "feed/market/mdp3/mdp3_message.h"

namespace tickstack::feed::market {

// Trades, then the orders that were executed in them.
template <bool kLong>
std::string_view DecodeMdp3TradeSummary(Mdp3Message& message);
// A trade in the layout before the summaries.
std::string_view DecodeMdp3OldTrade(Mdp3Message& message);

}  // namespace tickstack::feed::market
