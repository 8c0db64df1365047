#pragma once

// Computes the size of encoded values without decoding them, for readers of list columns.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace tickstack {

// Returns the size of the encoded value at the start of `bytes` (type byte first, little-endian, as
// on the wire); nullopt if it is incomplete or has an unknown type. Needs no recursion and no
// memory, however deep the value is nested. Cost: O(items); one step for a string.
std::optional<size_t> EncodedBytes(std::span<const std::byte> bytes);

// The head of a value, and the number of values that it contains. A vector or an atom consists of
// its head only; the head of a list is its type, attribute and count.
struct EncodedHead {
  size_t bytes = 0;
  uint64_t inner_values = 0;  // At most INT32_MAX.
};
// Returns the head of the value at the start of `bytes`; nullopt if it is incomplete or has an
// unknown type. Cost: O(1), or one pass over the names of a symbol vector.
std::optional<EncodedHead> HeadOfEncoded(std::span<const std::byte> bytes);

}  // namespace tickstack
