#pragma once

// A message of MDP 3.0 and its fields, which are little-endian. What its functions return reads the
// message's bytes, and is valid as long as they are.
//
// A decoder of a message sends its events to `sink`. It returns why the message does not fit, or an
// empty text. It reads only bytes of the root block, of entries of the first group, and of groups
// that it takes from `rest`: the table of messages (mdp3_decoder.cc) says how long these must be.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "base/byte_buffer.h"
#include "base/time.h"
#include "feed/market/big_endian.h"
#include "feed/market/event_reader.h"
#include "feed/market/events.h"
#include "feed/market/mdp3/mdp3_symbols.h"

namespace tickstack::feed::market {

// Bytes of the head of a group, and of a group of order numbers.
inline constexpr size_t kMdp3GroupHead = 3, kMdp3OrdersHead = 8;
inline constexpr int32_t kMdp3NullInt = std::numeric_limits<int32_t>::max();
inline constexpr uint8_t kMdp3ActionDelete = 2;  // The action of an entry.

// Entries of a group.
struct Mdp3Group {
  const std::byte* first = nullptr;
  size_t entry_bytes = 0;
  size_t count = 0;

  const std::byte* entry(size_t index) const { return first + index * entry_bytes; }
};

struct Mdp3Message {
  const std::byte* root;
  Mdp3Group group;                  // The first one, if the template has one.
  std::span<const std::byte> rest;  // What follows it.
  uint16_t number;                  // The template's.
  double price_units;
  EventHead head;
  Mdp3Symbols& symbols;
  EventSink& sink;

  double Price(const std::byte* at) const {
    const auto price = LoadLittle<int64_t>(at);
    const bool is_null = price == std::numeric_limits<int64_t>::max();
    return is_null ? kNullPrice : static_cast<double>(price) / price_units;
  }
};

// Takes a group off `rest`, whose entries have at least `entry_bytes_min` bytes. The number of
// entries is the last byte of the group's head. Returns why it does not fit, or an empty text.
inline std::string_view TakeMdp3Group(std::span<const std::byte>& rest, size_t head_bytes,
                                      size_t entry_bytes_min, Mdp3Group& group) {
  if (rest.size() < head_bytes) return "it ends within the head of a group";
  group.entry_bytes = LoadLittle<uint16_t>(rest.data());
  group.count = static_cast<size_t>(rest[head_bytes - 1]);
  rest = rest.subspan(head_bytes);
  group.first = rest.data();
  if (group.count == 0) return {};
  if (group.entry_bytes < entry_bytes_min) return "its entries are shorter than their type";
  if (group.count * group.entry_bytes > rest.size()) return "it ends within a group";
  rest = rest.subspan(group.count * group.entry_bytes);
  return {};
}

inline int32_t Mdp3Int(const std::byte* at) { return LoadLittle<int32_t>(at); }

inline int64_t Mdp3NullableInt(const std::byte* at) {
  const int32_t value = Mdp3Int(at);
  return value == kMdp3NullInt ? kNullLong : value;
}

// A size of 4 or 8 bytes. One of 8 bytes that exceeds a long is null, as the null of that type is.
template <bool kLong>
int64_t Mdp3Size(const std::byte* at) {
  if constexpr (!kLong) return Mdp3NullableInt(at);
  const auto value = LoadLittle<uint64_t>(at);
  return value > static_cast<uint64_t>(INT64_MAX) ? kNullLong : static_cast<int64_t>(value);
}

// Texts are padded with zeros.
inline std::string_view Mdp3Text(const std::byte* at, size_t bytes) {
  const std::string_view text(reinterpret_cast<const char*>(at), bytes);
  return PaddedText(at, std::min(text.find('\0'), bytes));
}

// Days since 1970 as midnight UTC.
inline int64_t Mdp3DaysNs(uint16_t days) {
  const bool is_null = days == std::numeric_limits<uint16_t>::max();
  return is_null ? kNullLong : days * kNsPerDay - kUnixNsOfKdbEpoch;
}

}  // namespace tickstack::feed::market
