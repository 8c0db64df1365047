#pragma once

// Tells which vector instructions the machine has, for kernels that come in several versions.
//
// The program is built for x86-64-v2, which every machine of the last fifteen years supports. A
// kernel that benefits from wider vectors is also compiled with TS_TARGET_AVX2 and
// TS_TARGET_AVX512, and its caller chooses the version once, by BestVectors(). Other architectures
// only have the plain version.

#include <cstdint>

namespace tickstack {

enum class Vectors : uint8_t { kPlain, kAvx2, kAvx512 };

#if defined(__x86_64__)
#define TS_TARGET_AVX2 __attribute__((target("avx2,bmi,bmi2,popcnt")))
// Skylake-X and Zen 4 on: 512 bits, and all element widths.
#define TS_TARGET_AVX512 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))
#endif

// Returns what this machine supports. Cost: a load.
inline Vectors BestVectors() {
#if defined(__x86_64__)
  static const Vectors best = [] {
    __builtin_cpu_init();
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
    return avx512 && avx2 ? Vectors::kAvx512 : avx2 ? Vectors::kAvx2 : Vectors::kPlain;
  }();
  return best;
#else
  return Vectors::kPlain;
#endif
}

}  // namespace tickstack
