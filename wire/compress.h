#pragma once

// The compression of kdb+ IPC messages: q's LZ77 (table/lz_stream.h) behind a header.
//
//   bytes 0..7   the message header: byte 2 is 1, the length is the compressed one
//         8..11  length of the uncompressed message, header included, in the header's byte order
//         12..   the stream

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"

namespace tickstack::wire {

// kdb+ compresses messages longer than this, to peers of capability 1 and above on other hosts. The
// caller applies this rule; Compress takes any message.
inline constexpr size_t kCompressBytesMin = 2000;

// Returns the compressed form of a whole little-endian message, identical to that of kdb+. nullopt
// if it is not shorter than half the message, or if the message is 2 GiB or longer.
std::optional<ByteBuffer> Compress(std::span<const std::byte> message);

// Returns the uncompressed length, header included, that a whole compressed message declares.
// kInvalidArgument if it is not a compressed message, or the length is impossible.
absl::StatusOr<uint32_t> DeclaredBytes(std::span<const std::byte> message);

// Decompresses a whole message in either byte order. Returns a whole message, whose header says
// that it is not compressed. kInvalidArgument if it is not a compressed message, or if its stream
// does not yield exactly the declared bytes. kResourceExhausted if it declares more than max_bytes.
// Memory: grows with what the stream yields, at most some 250 times the bytes of `message`.
absl::StatusOr<ByteBuffer> Decompress(std::span<const std::byte> message, size_t max_bytes);

}  // namespace tickstack::wire
