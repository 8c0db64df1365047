#pragma once

#include <cstddef>

namespace tickstack {

// For a process that takes and gives back buffers of some 100 KiB all the time: has the C library
// keep up to 64 MiB of what was freed. Otherwise it returns memory to the kernel with each trough
// and faults it in again, zeroed, with the next peak.
// Blocks from 8 MiB on are still given back at once; those of queries have a cache of their own
// (block_cache.h). Call it before there are threads. Without the GNU C library it does nothing.
void KeepFreedMemory();

// Takes `bytes` from the heap, touches each page, and gives them back: the next that the calling
// thread takes was touched before, instead of one by one while a first batch of rows waits. After
// KeepFreedMemory, and at most what that keeps. Cost: that of fresh pages, 0.3 to 3 ns a byte.
void TouchHeap(size_t bytes);

}  // namespace tickstack
