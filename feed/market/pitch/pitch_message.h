#pragma once

// A message of multicast PITCH and its fields, which are little-endian. What its functions return
// reads the message's bytes, and is valid as long as they are.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/byte_buffer.h"
#include "base/time.h"
#include "feed/market/big_endian.h"
#include "feed/market/event_reader.h"
#include "feed/market/events.h"
#include "feed/market/pitch/pitch_book.h"

namespace tickstack::feed::market {

inline constexpr size_t kPitchSymbolBytes = 6, kPitchLongSymbolBytes = 8;

// A unit numbers its messages, and has the orders of its symbols.
struct PitchUnit {
  PitchBook book;
  int64_t second_ns = kNullLong;  // The last time message, in ns since 2000.
  int64_t seq = kNullLong;        // The last message's.
};

struct PitchMessage {
  const std::byte* at;
  size_t bytes;
  EventHead head;
  PitchUnit& unit;
  EventSink& sink;
  MessageCounts& counts;
};

inline int64_t PitchLong(const std::byte* at) { return LoadLittle<int64_t>(at); }
inline uint32_t PitchU32(const std::byte* at) { return LoadLittle<uint32_t>(at); }
// A price of 8 bytes.
inline double PitchLongPrice(const std::byte* at) { return PitchPrice(PitchLong(at)); }
// A code of one letter; empty if it is blank.
inline std::string_view PitchCode(const std::byte* at) { return PaddedText(at, 1); }
// Seconds since 1970 as ns since 2000.
inline int64_t PitchSecondNs(uint32_t seconds) {
  return int64_t{seconds} * kNsPerSecond - kUnixNsOfKdbEpoch;
}

}  // namespace tickstack::feed::market
