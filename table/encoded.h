#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace tickstack {

// The bytes that the encoded value at the start of `bytes` fills (type byte first, little-endian,
// as on the wire); nullopt if it ends before the value does or starts with no known type. Needs no
// stack and no memory, however deep the value is nested. Cost: what the value has of items; one
// step for a string.
std::optional<size_t> EncodedBytes(std::span<const std::byte> bytes);

}  // namespace tickstack
