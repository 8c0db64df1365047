#pragma once

// Books of MDP 3.0, by level and by order. `kLong`: a later layout, whose sizes have 8 bytes.
// Each function sends the events of a message, and returns why it does not fit, or an empty text
// (mdp3_message.h).

#include <string_view>

#include "feed/market/mdp3/mdp3_message.h"

namespace tickstack::feed::market {

// All books of the channel are empty.
std::string_view DecodeMdp3ChannelReset(Mdp3Message& message);
// Levels, then the orders that they consist of, which earlier versions do not have.
template <bool kLong>
std::string_view DecodeMdp3Book(Mdp3Message& message);
std::string_view DecodeMdp3OrderBook(Mdp3Message& message);

}  // namespace tickstack::feed::market
