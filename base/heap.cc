#include "base/heap.h"

#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace tickstack {

void KeepFreedMemory() {
#ifdef __GLIBC__
  // Sets both, since setting one of them disables the library's automatic adjustment of the other.
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

void TouchHeap(size_t bytes) {
  constexpr size_t kBlockBytes = size_t{1} << 20;  // Too small to be mapped separately.
  std::vector<void*> blocks;
  for (; bytes >= kBlockBytes; bytes -= kBlockBytes) {
    void* const block = std::malloc(kBlockBytes);
    if (block == nullptr) break;
    std::memset(block, 1, kBlockBytes);
    asm volatile("" : : "r"(block) : "memory");  // Prevents the compiler from removing the writes.
    blocks.push_back(block);
  }
  for (void* const block : blocks) std::free(block);
}

}  // namespace tickstack
