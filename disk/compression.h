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
// reads without an additional library; gzip is smaller, lz4 faster.
struct CompressionOptions {
  Compression algorithm = Compression::kNone;
  int level = 0;
  int block_shift = 17;  // Blocks of 2^17 bytes: kdb+ accepts 12 to 20.

  size_t block_bytes() const { return size_t{1} << block_shift; }
  friend bool operator==(const CompressionOptions&, const CompressionOptions&) = default;
};

// Parses `none`, `ipc`, `gzip`, `snappy`, `lz4`, `zstd`, with levels also `gzip-6`.
// kInvalidArgument with found and expected. Levels are gzip 1 to 9 (default 6), lz4 1 to 12 (9),
// zstd 1 to 19 (3).
absl::StatusOr<CompressionOptions> ParseCompression(std::string_view text);

// Returns the compressed block; nullopt if it does not get smaller (kIpc: not below half the size,
// as in kdb+), so it is stored uncompressed. Threads: any, concurrently.
std::optional<ByteBuffer> CompressBlock(const CompressionOptions& options,
                                        std::span<const std::byte> block);

}  // namespace tickstack::disk
