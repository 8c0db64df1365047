#include "mem/tier.h"

#include <bit>

namespace tickstack::mem {

size_t Tier::RoundedBytes(size_t bytes) {
  if (bytes <= kSmallestBytes) return kSmallestBytes;
  if (bytes <= kHugePageBytes) return std::bit_ceil(bytes);
  return (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
}

}  // namespace tickstack::mem
