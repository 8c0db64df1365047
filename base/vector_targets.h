#pragma once

// Chooses the instruction sets that Highway compiles kernels for. A source with such kernels
// includes this header before <hwy/foreach_target.h>.
//
// On x86-64 there are three: SSE4 (the program's baseline, x86-64-v2), AVX2 and AVX-512, which
// Highway calls AVX3. The machine's best one is chosen when a kernel is first used. On aarch64
// there is NEON. Each further set would add a second or two to a kernel's compilation.

// Highway's SSE4 target includes AES and PCLMUL, which x86-64-v2 lacks. No kernel uses them.
#define HWY_DISABLE_PCLMUL_AES
// Kernels hold vectors in arrays, which SVE's vectors of unknown width do not allow.
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)
