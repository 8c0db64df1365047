#pragma once

// The large blocks of malloc's that scratch.h keeps for the next query.

#include <cstddef>
#include <cstdint>

namespace tickstack {

inline constexpr size_t kHeavyBlockBytes = size_t{1} << 20;

// Blocks of kHeavyBlockBytes and more that were allocated or grown since the process began: while
// it does not change, no query of some size runs. Any thread.
uint64_t HeavyBlocks();

// Bytes that are kept, and gives them all back. Any thread.
size_t KeptBlockBytes();
void FreeKeptBlocks();

}  // namespace tickstack
