#include "mem/copy.h"

#include <libpmem.h>

namespace tickstack::mem {

void CopyStreaming(std::byte* to, const std::byte* from, size_t bytes) {
  pmem_memcpy(to, from, bytes, PMEM_F_MEM_NONTEMPORAL | PMEM_F_MEM_NODRAIN);
}

void DrainStreaming() { pmem_drain(); }

}  // namespace tickstack::mem
