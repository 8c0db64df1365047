#pragma once

// Decompresses the blocks of kdb+'s compressed files. docs/formats.md describes the file around
// them.

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "disk/kdb_format.h"

namespace tickstack::disk {

// Fills `out` with the content of the block. kDataLoss if it is damaged or of another length: then
// `out` is partly filled. kUnimplemented for an algorithm without a description. The caller adds
// the place. Memory: q's algorithm takes as much as `out`, and zstd some 100 KiB, neither from a
// query's scratch memory. Threads: any, concurrently.
absl::Status DecompressBlock(Compression algorithm, std::span<const std::byte> block,
                             std::span<std::byte> out);

}  // namespace tickstack::disk
