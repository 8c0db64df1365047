#include "base/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace tickstack {
namespace {

// ISA-L's functions for AVX-512 leave values in the upper halves of the vector registers. Until
// these are cleared, the thread's SSE instructions wait for each other: floating-point loops, for
// example, take twice as long. A compiler clears them at the end of its own functions.
#ifdef __x86_64__
[[gnu::target("avx")]] void ClearUpperHalves() { _mm256_zeroupper(); }
const bool kHasUpperHalves = __builtin_cpu_supports("avx") != 0;
#else
void ClearUpperHalves() {}
constexpr bool kHasUpperHalves = false;
#endif

}  // namespace

uint32_t ExtendCrc32c(uint32_t crc, std::span<const std::byte> bytes) {
  // ISA-L takes lengths as ints and does not complement the checksum itself.
  constexpr size_t kPartBytes = size_t{1} << 30;
  crc = ~crc;
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min(bytes.size(), kPartBytes));
    // It only reads; its signature has no const.
    auto* const data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(part.data()));
    crc = crc32_iscsi(data, static_cast<int>(part.size()), crc);
    bytes = bytes.subspan(part.size());
  }
  if (kHasUpperHalves) ClearUpperHalves();
  return ~crc;
}

}  // namespace tickstack
