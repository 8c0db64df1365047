#pragma once

// Tunes the C library's heap for processes that allocate and free large buffers.

#include <cstddef>

namespace tickstack {

// Makes the C library keep up to 64 MiB of freed memory, for a process that allocates and frees
// buffers of some 100 KiB all the time. Otherwise it would return memory to the kernel at each
// trough, and fault it in again, zeroed, at the next peak. Blocks from 8 MiB on are still returned
// immediately; those of queries have a cache of their own (block_cache.h). Call it before there are
// threads. Has no effect without the GNU C library.
void KeepFreedMemory();

// Allocates `bytes`, touches each page, and frees them, so that the calling thread's next
// allocations need no page faults while a first batch of rows waits. Call it after KeepFreedMemory,
// for at most the 64 MiB that it keeps. Cost: 0.3 to 3 ns per byte for the page faults.
void TouchHeap(size_t bytes);

}  // namespace tickstack
