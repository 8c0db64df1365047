#pragma once

// Converts one value to and from kdb+'s bytes: the body of an IPC message, a record of a
// tickerplant log, or the part of a file after its first bytes `ff 01`.
//
// Everything here except ToLittleEndian uses little-endian bytes. Values keep all that the wire
// carries, so decoding and encoding a message gives the same bytes.
//
// Decoding refuses the following with kInvalidArgument and the byte offset: unknown types;
// enumerated vectors (types 20 to 76, which are never in messages); negative counts; attributes
// above 4; values nested deeper than kDepthMax; an error inside another value; dictionaries with
// more keys than values, or fewer; tables whose names are not a symbol vector, or whose columns are
// not as many vectors or lists of equal count.
// Memory: at most about 40 times the size of the body (for a list of 2-byte atoms), whatever counts
// it declares, because nothing is allocated for a value before all of its bytes were read. Threads:
// reentrant.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "table/value.h"

namespace tickstack {

inline constexpr int kDepthMax = 64;  // A list in a list has depth 2.
// Elements of a vector or list, whose count is an int32.
inline constexpr size_t kCountMax = INT32_MAX;

// Returns the number of bytes that Encode will append. kInvalidArgument if a vector or list in it
// has more than kCountMax elements. Cost: O(items); vectors are O(1).
absl::StatusOr<size_t> EncodedBytes(const Value& value);

// Appends the value's encoding. For values that may be too long, call EncodedBytes first: a count
// beyond kCountMax is a TS_CHECK.
void Encode(const Value& value, ByteBuffer& out);

// Decodes the value that fills `body` exactly; anything else is kInvalidArgument.
absl::StatusOr<Value> Decode(std::span<const std::byte> body);

// Decodes as Decode does, with bounded time and memory. kResourceExhausted if the body has more
// than `max_bytes`, or if its lists and names would take more than `max_bytes` of memory; both are
// checked before the memory is allocated.
absl::StatusOr<Value> DecodeWithin(std::span<const std::byte> body, size_t max_bytes);

// Decodes the first value of `body` and returns in `used` how many bytes it has. kInvalidArgument
// also if the bytes end before the value does.
absl::StatusOr<Value> DecodePrefix(std::span<const std::byte> body, size_t* used);

// Returns the size of the first value of `bytes`, without building it. nullopt: the bytes end
// before the value does. kInvalidArgument: no further bytes could make it a value. Whenever it
// returns a size, DecodePrefix succeeds with that size, and the reverse.
//
// Cost: O(1) for a fixed-width vector, one SIMD pass over the names of a symbol vector, a few ns
// per nested value. Allocates nothing.
absl::StatusOr<std::optional<size_t>> ValueBytes(std::span<const std::byte> bytes);

// Converts a big-endian body, one value that fills `body` exactly, to little-endian in place.
// kInvalidArgument as for Decode; the body is then partly converted and unusable.
absl::Status ToLittleEndian(std::span<std::byte> body);

}  // namespace tickstack
