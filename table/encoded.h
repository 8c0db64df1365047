#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tickstack {

// The bytes that the encoded value at the start of `bytes` fills (type byte first, little-endian,
// as on the wire); nullopt if it ends before the value does or starts with no known type. Needs no
// stack and no memory, however deep the value is nested. Cost: what the value has of items; one
// step for a string.
std::optional<size_t> EncodedBytes(std::span<const std::byte> bytes);

// One step of that: what a value has before the values in it, and how many those are. A vector or
// an atom is all head; the head of a list is its type, attribute and count.
struct EncodedHead {
  size_t bytes = 0;
  uint64_t inner_values = 0;  // No more than INT32_MAX.
};
// Returns the head of the value at the start of `bytes`; nullopt as above. Cost: O(1), or one pass
// over the names of a symbol vector.
std::optional<EncodedHead> HeadOfEncoded(std::span<const std::byte> bytes);

}  // namespace tickstack
