#pragma once

// Definitions of instruments, and their trading status, of MDP 3.0.
// Each function sends the events of a message, and returns why it does not fit, or an empty text
// (mdp3_message.h).

#include <string_view>

#include "feed/market/mdp3/mdp3_message.h"

namespace tickstack::feed::market {

// `flags` has the CFI code, the factor by which prices are shown, and whether the definition is
// added (A), modified (M) or deleted (D). Reads the message's time, which is not its first field.
std::string_view DecodeMdp3Definition(Mdp3Message& message);
// The status of an instrument, or else of a group or product.
std::string_view DecodeMdp3SecurityStatus(Mdp3Message& message);

}  // namespace tickstack::feed::market
