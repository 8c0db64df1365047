#pragma once

// One value, to and from kdb+'s bytes: the body of an IPC message, a record of a tickerplant log,
// and what follows `ff 01` in a file.
//
// Everything here but ToLittleEndian takes and makes little-endian bytes. Values keep what the wire
// carries, so decoding and encoding a message gives back the same bytes.
//
// What is refused as "not a value" (kInvalidArgument, naming the byte offset): unknown types,
// enumerated vectors (types 20 to 76, which never travel), negative counts, attributes above 4,
// values nested deeper than kDepthMax, an error inside another value, dictionaries whose two sides
// differ in count, tables whose columns are not vectors and lists of equal count under a symbol
// vector of as many names.
//
// Memory: what a body decodes into is bounded by the body's own bytes (about 40 bytes per byte, for
// a list of 2-byte atoms), whatever counts it declares: nothing is allocated before all of the
// value's bytes were seen. Threads: reentrant.

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

// Bytes that Encode will append. kInvalidArgument if a vector or list in it has more than kCountMax
// elements. Cost: O(items), vectors are O(1).
absl::StatusOr<size_t> EncodedBytes(const Value& value);

// Appends the value's encoding. The caller has asked EncodedBytes about values that may be too
// long: here a count beyond kCountMax is a TS_CHECK.
void Encode(const Value& value, ByteBuffer& out);

// Decodes the one value that fills `body` exactly; anything else is kInvalidArgument.
absl::StatusOr<Value> Decode(std::span<const std::byte> body);

// Decodes the same, for a reader that has little time or memory: kResourceExhausted, before
// anything is built, if the body has more than `max_bytes`, and before a list or names are built
// that would take all of them together above that in memory.
absl::StatusOr<Value> DecodeWithin(std::span<const std::byte> body, size_t max_bytes);

// Decodes the first value of `body` and says how many bytes it took. kInvalidArgument also if the
// bytes end before the value does.
absl::StatusOr<Value> DecodePrefix(std::span<const std::byte> body, size_t* used);

// The size of the first value of `bytes`, without building it. nullopt: the bytes end before the
// value does. kInvalidArgument: no bytes that could follow make it a value. If it returns a size,
// DecodePrefix succeeds with that size, and the other way round.
//
// Cost: O(1) for a fixed-width vector, one SIMD pass over the names of a symbol vector, a few ns
// per nested value. Allocates nothing.
absl::StatusOr<std::optional<size_t>> ValueBytes(std::span<const std::byte> bytes);

// Turns a big-endian body, one value that fills `body` exactly, into a little-endian one, in place.
// kInvalidArgument as Decode; the body is then half swapped and good for nothing.
absl::Status ToLittleEndian(std::span<std::byte> body);

}  // namespace tickstack
