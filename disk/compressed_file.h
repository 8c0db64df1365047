#pragma once

// Finds the blocks of a compressed file.
//
//   kxzipped | block | block | ... | trailer | (u32 bytes, u32 algorithm) a block | i64 blocks
//
// Blocks are independent of each other; all but the last hold block_bytes of the uncompressed file.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mapping.h"
#include "disk/compression.h"
#include "disk/kdb_format.h"
#include "disk/stored_file.h"

namespace tickstack::disk {

struct CompressedBlock {
  uint64_t offset = 0;  // Position in the file.
  uint32_t bytes = 0;
  Compression algorithm = Compression::kNone;
};

struct CompressedLayout {
  uint64_t image_bytes = 0;  // Size of the uncompressed file.
  uint64_t block_bytes = 0;
  // The file's algorithm; blocks may be stored uncompressed.
  Compression algorithm = Compression::kNone;
  int level = 0;
  std::vector<CompressedBlock> blocks;

  uint64_t bytes_of_block(size_t i) const {  // Uncompressed.
    return i + 1 < blocks.size() ? block_bytes : image_bytes - i * block_bytes;
  }
};

// Parses the trailer of `file`, a whole file that begins with kCompressedTag. kDataLoss, with the
// byte, if its parts do not fill the file exactly. The caller adds the path to errors. Cost and
// memory: O(blocks), which the file's length bounds.
absl::StatusOr<CompressedLayout> ParseCompressedLayout(std::span<const std::byte> file);

// Returns how a file is compressed; nullopt if it is not, or if that part of it is damaged.
std::optional<CompressionOptions> CompressionOf(const std::string& path);

// Opens a file that StoredFile::Open found to be compressed. The blocks of `stored` are checksums
// of the compressed bytes.
absl::StatusOr<std::unique_ptr<const StoredFile>> OpenCompressed(std::string path,
                                                                 StoredBytes stored);

}  // namespace tickstack::disk
