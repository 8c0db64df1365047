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

// kdb+ compresses messages longer than this, to peers of capability 1 and more on other hosts. The
// caller's rule; Compress itself takes any message.
inline constexpr size_t kCompressBytesMin = 2000;

// The compressed form of a whole little-endian message, or nullopt if it does not get under half
// the size (or is 2 GiB or longer). Byte for byte what kdb+ makes of it.
std::optional<ByteBuffer> Compress(std::span<const std::byte> message);

// How long the uncompressed message is, header included, as a whole compressed one declares it.
// kInvalidArgument: not a compressed message, or not a length that one can have.
absl::StatusOr<uint32_t> DeclaredBytes(std::span<const std::byte> message);

// The whole uncompressed message, its header rewritten, of a whole compressed one in either byte
// order. kInvalidArgument: not a compressed message, or the stream ends early, late or outside what
// it declares. kResourceExhausted: it declares more than max_bytes. Memory: grows with what the
// stream really yields, at most some 250 times the bytes of `message`.
absl::StatusOr<ByteBuffer> Decompress(std::span<const std::byte> message, size_t max_bytes);

}  // namespace tickstack::wire
