#pragma once

// q's own compression, a byte-oriented LZ77 with a table of 256 positions, for messages on the wire
// and for blocks in files (algorithm 1). In both, positions count from the start of an uncompressed
// message. Its first eight bytes are a header, which is not in the stream.
//
//   stream   groups: one flag byte, then eight items, lowest flag bit first
//              bit 0: one literal byte
//              bit 1: hash byte h, count byte n: 2 + n bytes from position table[h]
//
// table[a xor b] is the last position at which the bytes a, b were seen, with one exception: the
// last n bytes of a match are not entered in the table.

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "base/byte_buffer.h"

namespace tickstack {

inline constexpr size_t kLzHeaderBytes = 8;

// Appends the stream of a message of more than kLzHeaderBytes and less than 2 GiB. The stream is
// identical to kdb+'s. Returns false if `out` would exceed `bytes_max`; `out` then has a part of
// the stream.
bool AppendLzStream(std::span<const std::byte> message, size_t bytes_max, ByteBuffer& out);

// Appends the expanded stream to `out`, which has kLzHeaderBytes of header, until it has
// `total_bytes` (at most INT32_MAX). kInvalidArgument if the stream does not end exactly there.
// Memory: `out` grows while the stream is expanded, to at most some 250 times the stream's size.
absl::Status ExpandLzStream(std::span<const std::byte> stream, size_t total_bytes, ByteBuffer& out);

}  // namespace tickstack
