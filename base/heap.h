#pragma once

namespace tickstack {

// For a process that takes and gives back buffers of some 100 KiB all the time: has the C library
// keep up to 64 MiB of what was freed. Otherwise it returns memory to the kernel with each trough
// and faults it in again, zeroed, with the next peak.
// Blocks from 8 MiB on are still given back at once; those of queries have a cache of their own
// (block_cache.h). Call it before there are threads. Without the GNU C library it does nothing.
void KeepFreedMemory();

}  // namespace tickstack
