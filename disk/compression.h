#pragma once

// The blocks of kdb+'s compressed files: one algorithm for one block. docs/formats.md has the file
// around them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "disk/kdb_format.h"

namespace tickstack {

// How a file is written. Compression::kIpc, q's own, is the one that every kdb+ reads without a
// library beside it; gzip is smaller, lz4 faster.
struct CompressionOptions {
  Compression algorithm = Compression::kNone;
  int level = 0;
  int block_shift = 17;  // Blocks of 2^17 bytes: kdb+ takes 12 to 20.

  size_t block_bytes() const { return size_t{1} << block_shift; }
  friend bool operator==(const CompressionOptions&, const CompressionOptions&) = default;
};

// `none`, `ipc`, `gzip`, `snappy`, `lz4`, `zstd`, those with levels also as `gzip-6`.
// kInvalidArgument with what was found and what is expected: levels are gzip 1 to 9 (6 if not
// said), lz4 1 to 12 (9), zstd 1 to 19 (3).
absl::StatusOr<CompressionOptions> ParseCompression(std::string_view text);

// The compressed block, or nullopt if it does not get smaller (kIpc: half as large, as kdb+ has
// it): then it is stored as it is. Threads: any, also at once.
std::optional<ByteBuffer> CompressBlock(const CompressionOptions& options,
                                        std::span<const std::byte> block);

}  // namespace tickstack
