#pragma once

// Definitions of instruments in multicast PITCH. Each function sends the event of a message to its
// sink, and returns why the message does not fit, or an empty text.

#include <string_view>

#include "feed/market/pitch/pitch_message.h"

namespace tickstack::feed::market {

// An option: its symbol in the other messages, and its OSI symbol. It has no time.
std::string_view DecodePitchSymbolMapping(PitchMessage& message);
// A future, or a spread of several. It has a second of its own.
std::string_view DecodePitchFutureDefinition(PitchMessage& message);

}  // namespace tickstack::feed::market
