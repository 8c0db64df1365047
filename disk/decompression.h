#pragma once

// Decompresses the blocks of kdb+'s compressed files. docs/formats.md describes the file around
// them.

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "disk/kdb_format.h"

namespace tickstack::disk {

// Fills `out` with the content of the block. Errors: kDataLoss if the block is damaged or its
// content has another length, which may leave `out` partly filled; kUnimplemented for an unknown
// algorithm. The caller must add the file and position to the error. Memory: as much as `out` for
// q's algorithm, and some 100 KiB for zstd, none of it from a query's scratch memory. Threads:
// any, concurrently.
absl::Status DecompressBlock(Compression algorithm, std::span<const std::byte> block,
                             std::span<std::byte> out);

}  // namespace tickstack::disk
