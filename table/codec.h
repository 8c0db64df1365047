#pragma once

// Converts one value to and from kdb+'s bytes: the body of an IPC message, a record of a
// tickerplant log, and what follows `ff 01` in a file.
//
// Everything here except ToLittleEndian uses little-endian bytes. Values keep all that the wire
// carries, so decoding and encoding a message gives the same bytes.
//
// What is refused as "not a value" (kInvalidArgument, naming the byte offset): unknown types,
// enumerated vectors (types 20 to 76, which never travel), negative counts, attributes above 4,
// values nested deeper than kDepthMax, an error inside another value, dictionaries whose two sides
// differ in count, tables whose columns are not vectors and lists of equal count under a symbol
// vector of as many names.
// Memory: bounded by the body's own bytes (about 40 bytes per byte, for a list of 2-byte atoms),
// whatever counts it declares: nothing is allocated before all of the value's bytes were read.
// Threads: reentrant.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "table/value.h"

namespace tickstack {

inline constexpr int kDepthMax = 64;            // A list in a list has depth 2.
inline constexpr size_t kCountMax = INT32_MAX;  // Elements of a vector or list: the count is int32.

// Returns the number of bytes that Encode will append. kInvalidArgument if a vector or list in it
// has more than kCountMax elements. Cost: O(items); vectors are O(1).
absl::StatusOr<size_t> EncodedBytes(const Value& value);

// Appends the value's encoding. For values that may be too long, call EncodedBytes first: a count
// beyond kCountMax is a TS_CHECK.
void Encode(const Value& value, ByteBuffer& out);

// Decodes the value that fills `body` exactly; anything else is kInvalidArgument.
absl::StatusOr<Value> Decode(std::span<const std::byte> body);

// Decodes the same with bounded time and memory: kResourceExhausted if the body has more than
// `max_bytes`, which is checked first, or if its lists and names together would take more memory
// than that, which is checked before each is built.
absl::StatusOr<Value> DecodeWithin(std::span<const std::byte> body, size_t max_bytes);

// Decodes the first value of `body` and returns in `used` how many bytes it has. kInvalidArgument
// also if the bytes end before the value does.
absl::StatusOr<Value> DecodePrefix(std::span<const std::byte> body, size_t* used);

// Returns the size of the first value of `bytes`, without building it. nullopt: the bytes end
// before the value does. kInvalidArgument: no further bytes could make it a value. It returns a
// size exactly if DecodePrefix succeeds with that size.
//
// Cost: O(1) for a fixed-width vector, one SIMD pass over the names of a symbol vector, a few ns
// per nested value. Allocates nothing.
absl::StatusOr<std::optional<size_t>> ValueBytes(std::span<const std::byte> bytes);

// Converts a big-endian body, one value that fills `body` exactly, to little-endian in place.
// kInvalidArgument as for Decode; the body is then partly converted and unusable.
absl::Status ToLittleEndian(std::span<std::byte> body);

}  // namespace tickstack
