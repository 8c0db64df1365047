#include "base/heap.h"

#include <malloc.h>

namespace tickstack {

void KeepFreedMemory() {
#ifdef __GLIBC__
  // Both: setting one of them ends the library's own adjustment of the other.
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

}  // namespace tickstack
