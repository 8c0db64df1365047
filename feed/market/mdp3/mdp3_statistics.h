#pragma once

// Statistics of MDP 3.0, of a session or a day. `kLong`: a later layout, whose sizes have 8 bytes.
// Each function sends the events of a message, and returns why it does not fit, or an empty text
// (mdp3_message.h).

#include <string_view>

#include "feed/market/mdp3/mdp3_message.h"

namespace tickstack::feed::market {

template <bool kLong>
std::string_view DecodeMdp3SessionStatistics(Mdp3Message& message);
std::string_view DecodeMdp3DailyStatistics(Mdp3Message& message);
// The volume that was traded so far.
template <bool kLong>
std::string_view DecodeMdp3Volume(Mdp3Message& message);
std::string_view DecodeMdp3Limits(Mdp3Message& message);

}  // namespace tickstack::feed::market
