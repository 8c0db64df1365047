#pragma once

// The blocks of kdb+'s compressed files, one at a time. docs/formats.md has the file around them.

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "disk/kdb_format.h"

namespace tickstack {

// Fills `out` with what the block is of. kDataLoss if it is damaged or of another length: then
// `out` is partly filled. kUnimplemented for an algorithm that nobody has described. The caller
// adds the place. Memory: q's algorithm takes as much as `out`, and zstd some 100 KiB; neither is a
// query's scratch memory. Threads: any, also at once.
absl::Status DecompressBlock(Compression algorithm, std::span<const std::byte> block,
                             std::span<std::byte> out);

}  // namespace tickstack
