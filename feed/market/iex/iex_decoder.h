#pragma once

// Messages of IEX: TOPS 1.5 and 1.6, DEEP 1.0, DEEP+ 1.0. A type means the same in all of them.
// Numbers are little-endian.
//
//   0 type | 1 flags or a code | 2 time i64, ns since 1970 | 10 symbol a8 | 18 ...
//
// The system event ends before the symbol. Prices are in 1/10000 dollar.

#include <span>
#include <string_view>

#include "feed/market/event_reader.h"
#include "feed/market/events.h"

namespace tickstack::feed::market {

// Decodes a message. `head` has its sequence number, time of receipt and channel. Counts it, and
// returns why it does not fit, or an empty text. A message may be longer than its type.
std::string_view DecodeIex(std::span<const std::byte> message, const EventHead& head,
                           EventSink& sink, MessageCounts& counts);

}  // namespace tickstack::feed::market
