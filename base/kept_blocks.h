#pragma once

// The large malloc blocks that scratch.h keeps for later queries.

#include <cstddef>
#include <cstdint>

namespace tickstack {

inline constexpr size_t kHeavyBlockBytes = size_t{1} << 20;

// Returns the number of blocks of at least kHeavyBlockBytes that were allocated or grown since the
// start of the process. While it does not change, no large query runs. Any thread.
uint64_t HeavyBlocks();

// Returns the total size of the kept blocks, in bytes. Any thread.
size_t KeptBlockBytes();
// Frees all kept blocks. Any thread.
void FreeKeptBlocks();

}  // namespace tickstack
