#pragma once

// Compresses the blocks of kdb+'s compressed files, each with one algorithm. docs/formats.md
// describes the file around them.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "disk/kdb_format.h"

namespace tickstack::disk {

// How a file is compressed. Compression::kIpc, q's own algorithm, is the only one that every kdb+
// reads without an additional library. Gzip compresses better, lz4 faster.
struct CompressionOptions {
  Compression algorithm = Compression::kNone;
  int level = 0;
  int block_shift = 17;  // A block has 2^block_shift bytes; kdb+ accepts 12 to 20.

  size_t block_bytes() const { return size_t{1} << block_shift; }
  friend bool operator==(const CompressionOptions&, const CompressionOptions&) = default;
};

// Parses the name of an algorithm: `none`, `ipc`, `gzip`, `snappy`, `lz4` or `zstd`. A level may
// follow, such as `gzip-6`: 1 to 9 for gzip (default 6), 1 to 12 for lz4 (9), 1 to 19 for zstd (3).
// kInvalidArgument, with what was found and expected, for any other text.
absl::StatusOr<CompressionOptions> ParseCompression(std::string_view text);

// Returns the compressed block; nullopt if it would not be smaller than the block (with kIpc, as in
// kdb+, smaller than half of it). The caller then stores the block uncompressed. Threads: any,
// concurrently.
std::optional<ByteBuffer> CompressBlock(const CompressionOptions& options,
                                        std::span<const std::byte> block);

}  // namespace tickstack::disk
