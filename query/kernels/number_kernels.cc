#include "query/kernels/number_kernels.h"

#include <algorithm>
#include <utility>

#include "query/kernels/number_rules.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Each loop is written once, as a function that is always inlined. A version is a function with its
// own target that inlines it, so that the compiler makes vector code for that target.

#define TS_LOOP [[gnu::always_inline]] inline

namespace tickstack::query {
namespace {

// There are more lanes than for a total, because extremes do not depend on the order.
constexpr size_t kExtremeLanes = 16;

template <typename T>
TS_LOOP T MaxLoop(const T* items, size_t n, T best) {
  T lanes[kExtremeLanes];
  for (T& lane : lanes) lane = best;
  const size_t whole = n / kExtremeLanes * kExtremeLanes;
  for (size_t i = 0; i < whole; i += kExtremeLanes) {
    // An integer null is below minus infinity, and a NaN compares false.
    for (size_t lane = 0; lane < kExtremeLanes; ++lane) {
      lanes[lane] = items[i + lane] > lanes[lane] ? items[i + lane] : lanes[lane];
    }
  }
  for (size_t i = whole; i < n; ++i) best = items[i] > best ? items[i] : best;
  for (const T lane : lanes) best = lane > best ? lane : best;
  return best;
}

template <typename T>
TS_LOOP T MinLoop(const T* items, size_t n, T best) {
  T lanes[kExtremeLanes];
  for (T& lane : lanes) lane = best;
  const size_t whole = n / kExtremeLanes * kExtremeLanes;
  for (size_t i = 0; i < whole; i += kExtremeLanes) {
    for (size_t lane = 0; lane < kExtremeLanes; ++lane) {
      const T item = items[i + lane];
      // An integer null is the smallest there is; a NaN compares false.
      const bool smaller = (item < lanes[lane]) & !IsNull(item);
      lanes[lane] = smaller ? item : lanes[lane];
    }
  }
  for (size_t i = whole; i < n; ++i)
    best = ((items[i] < best) & !IsNull(items[i])) ? items[i] : best;
  for (const T lane : lanes) best = lane < best ? lane : best;
  return best;
}

template <typename Sum, typename T>
TS_LOOP void AddLoop(const T* items, size_t n, std::array<Sum, kLanes>& sums,
                     std::array<uint64_t, kLanes>& nulls) {
  Sum sum[kLanes];
  uint64_t null[kLanes];
  std::copy_n(sums.data(), kLanes, sum);
  std::copy_n(nulls.data(), kLanes, null);
  const size_t whole = n / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const T item = items[i + lane];
      sum[lane] += IsNull(item) ? Sum{0} : static_cast<Sum>(item);
      null[lane] += IsNull(item) ? 1 : 0;
    }
  }
  for (size_t i = whole; i < n; ++i) {
    sum[i - whole] += IsNull(items[i]) ? Sum{0} : static_cast<Sum>(items[i]);
    null[i - whole] += IsNull(items[i]) ? 1 : 0;
  }
  std::copy_n(sum, kLanes, sums.data());
  std::copy_n(null, kLanes, nulls.data());
}

template <typename T>
TS_LOOP size_t LeadByOne(const T* items, size_t n, const Interval<T>& interval) {
  size_t i = 0;
  while (i < n && interval.Contains(items[i])) ++i;
  return i;
}

template <typename T>
TS_LOOP size_t LeadLoop(const T* items, size_t n, const Interval<T>& interval) {
  constexpr size_t kStep = 64;  // Items between two checks of the flags.
  const Interval<T> local = interval;
  // Makes flags as wide as the items.
  using Flag =
      std::conditional_t<sizeof(T) == 8, uint64_t,
                         std::conditional_t<sizeof(T) == 4, uint32_t,
                                            std::conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>>;
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    Flag outside = 0;
    for (size_t at = i; at < i + kStep; ++at) {
      outside |= local.Contains(items[at]) ? Flag{0} : static_cast<Flag>(~Flag{0});
    }
    if (outside != 0) break;
  }
  return i + LeadByOne(items + i, n - i, interval);
}

// Has no branch: every number is written, and kept by moving on.
template <typename T>
TS_LOOP size_t SelectLoop(const T* items, size_t n, const Interval<T>& interval, uint32_t first_row,
                          uint32_t* rows) {
  // Copied so that it can be in registers: it might alias the rows.
  const Interval<T> local = interval;
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    rows[count] = first_row + static_cast<uint32_t>(i);
    count += local.Contains(items[i]) ? 1 : 0;
  }
  return count;
}

// ---- The versions.

#define TS_VERSION(Name, target)                                                              \
  template <typename T>                                                                       \
  struct Name {                                                                               \
    target static T Max(const T* items, size_t n, T best) { return MaxLoop(items, n, best); } \
    target static T Min(const T* items, size_t n, T best) { return MinLoop(items, n, best); } \
    target static void Add(const T* items, size_t n, Totals<T>& totals) {                     \
      AddLoop(items, n, totals.sums, totals.nulls);                                           \
    }                                                                                         \
    target static void AddAsFloats(const T* items, size_t n, Totals<T>& totals) {             \
      AddLoop(items, n, totals.float_sums, totals.nulls);                                     \
    }                                                                                         \
    target static size_t Lead(const T* items, size_t n, const Interval<T>& interval) {        \
      return LeadLoop(items, n, interval);                                                    \
    }                                                                                         \
    target static size_t Select(const T* items, size_t n, const Interval<T>& interval,        \
                                uint32_t first_row, uint32_t* rows) {                         \
      return SelectLoop(items, n, interval, first_row, rows);                                 \
    }                                                                                         \
  }

TS_VERSION(Plain, );

#if defined(__x86_64__)

TS_VERSION(Avx2, TS_TARGET_AVX2);
TS_VERSION(Avx512, TS_TARGET_AVX512);

// For each 4 flags, the shuffle that brings the flagged ones of 4 row numbers to the front.
constexpr std::array<std::array<uint8_t, 16>, 16> kToTheFront = [] {
  std::array<std::array<uint8_t, 16>, 16> shuffles{};
  for (size_t flags = 0; flags < 16; ++flags) {
    size_t at = 0;
    for (size_t row = 0; row < 4; ++row) {
      if ((flags >> row & 1) == 0) continue;
      for (size_t byte = 0; byte < 4; ++byte) {
        shuffles[flags][at++] = static_cast<uint8_t>(4 * row + byte);
      }
    }
  }
  return shuffles;
}();

// Returns which of 4 items lie outside; bit i is item i.
TS_TARGET_AVX2 inline uint32_t Outside(const int64_t* items, __m256i lo, __m256i hi) {
  const __m256i item = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(items));
  const __m256i outside =
      _mm256_or_si256(_mm256_cmpgt_epi64(lo, item), _mm256_cmpgt_epi64(item, hi));
  return static_cast<uint32_t>(_mm256_movemask_pd(_mm256_castsi256_pd(outside)));
}

// Returns which of 4 items pass. `nulls` and `flip` have all four bits or none.
TS_TARGET_AVX2 inline uint32_t Passing(const double* items, __m256d lo, __m256d hi, uint32_t nulls,
                                       uint32_t flip) {
  const __m256d item = _mm256_loadu_pd(items);
  const __m256d inside =
      _mm256_and_pd(_mm256_cmp_pd(lo, item, _CMP_LE_OQ), _mm256_cmp_pd(item, hi, _CMP_LE_OQ));
  const auto null =
      static_cast<uint32_t>(_mm256_movemask_pd(_mm256_cmp_pd(item, item, _CMP_UNORD_Q)));
  return (static_cast<uint32_t>(_mm256_movemask_pd(inside)) | (null & nulls)) ^ flip;
}

template <>
TS_TARGET_AVX2 size_t Avx2<int64_t>::Lead(const int64_t* items, size_t n,
                                          const Interval<int64_t>& interval) {
  const __m256i lo = _mm256_set1_epi64x(interval.lo), hi = _mm256_set1_epi64x(interval.hi);
  const uint32_t flip = interval.negated ? 15 : 0;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    if (((Outside(items + i, lo, hi) ^ flip) | (Outside(items + i + 4, lo, hi) ^ flip)) != 0) break;
  }
  return i + LeadByOne(items + i, n - i, interval);
}

template <>
TS_TARGET_AVX2 size_t Avx2<double>::Lead(const double* items, size_t n,
                                         const Interval<double>& interval) {
  const __m256d lo = _mm256_set1_pd(interval.lo), hi = _mm256_set1_pd(interval.hi);
  const uint32_t flip = interval.negated ? 15 : 0, nulls = interval.with_nulls ? 15 : 0;
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const uint32_t both =
        Passing(items + i, lo, hi, nulls, flip) & Passing(items + i + 4, lo, hi, nulls, flip);
    if (both != 15) break;
  }
  return i + LeadByOne(items + i, n - i, interval);
}

TS_TARGET_AVX2 inline size_t KeepFlagged(uint32_t flags, uint32_t row, uint32_t* rows) {
  const __m128i numbers =
      _mm_add_epi32(_mm_set1_epi32(static_cast<int>(row)), _mm_setr_epi32(0, 1, 2, 3));
  const __m128i shuffle =
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(kToTheFront[flags].data()));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(rows), _mm_shuffle_epi8(numbers, shuffle));
  return static_cast<size_t>(__builtin_popcount(flags));
}

template <>
TS_TARGET_AVX2 size_t Avx2<int64_t>::Select(const int64_t* items, size_t n,
                                            const Interval<int64_t>& interval, uint32_t first_row,
                                            uint32_t* rows) {
  const __m256i lo = _mm256_set1_epi64x(interval.lo), hi = _mm256_set1_epi64x(interval.hi);
  const uint32_t flip = interval.negated ? 0 : 15;
  size_t count = 0, i = 0;
  for (; i + 4 <= n; i += 4) {
    const uint32_t flags = Outside(items + i, lo, hi) ^ flip;
    count += KeepFlagged(flags, first_row + static_cast<uint32_t>(i), rows + count);
  }
  return count +
         SelectLoop(items + i, n - i, interval, first_row + static_cast<uint32_t>(i), rows + count);
}

template <>
TS_TARGET_AVX2 size_t Avx2<double>::Select(const double* items, size_t n,
                                           const Interval<double>& interval, uint32_t first_row,
                                           uint32_t* rows) {
  const __m256d lo = _mm256_set1_pd(interval.lo), hi = _mm256_set1_pd(interval.hi);
  const uint32_t flip = interval.negated ? 15 : 0, nulls = interval.with_nulls ? 15 : 0;
  size_t count = 0, i = 0;
  for (; i + 4 <= n; i += 4) {
    const uint32_t flags = Passing(items + i, lo, hi, nulls, flip);
    count += KeepFlagged(flags, first_row + static_cast<uint32_t>(i), rows + count);
  }
  return count +
         SelectLoop(items + i, n - i, interval, first_row + static_cast<uint32_t>(i), rows + count);
}

template <>
TS_TARGET_AVX2 size_t Avx2<int32_t>::Select(const int32_t* items, size_t n,
                                            const Interval<int32_t>& interval, uint32_t first_row,
                                            uint32_t* rows) {
  const __m256i lo = _mm256_set1_epi32(interval.lo), hi = _mm256_set1_epi32(interval.hi);
  const uint32_t flip = interval.negated ? 0 : 255;
  size_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256i item = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(items + i));
    const __m256i outside =
        _mm256_or_si256(_mm256_cmpgt_epi32(lo, item), _mm256_cmpgt_epi32(item, hi));
    const uint32_t flags =
        static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(outside))) ^ flip;
    const uint32_t row = first_row + static_cast<uint32_t>(i);
    count += KeepFlagged(flags & 15, row, rows + count);
    count += KeepFlagged(flags >> 4, row + 4, rows + count);
  }
  return count +
         SelectLoop(items + i, n - i, interval, first_row + static_cast<uint32_t>(i), rows + count);
}

// Compresses in a register and stores all of it, because a masked store is slow on some machines.
TS_TARGET_AVX512 inline size_t KeepFlagged8(__mmask8 flags, uint32_t row, uint32_t* rows) {
  const __m256i numbers = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(row)),
                                           _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(rows),
                      _mm256_maskz_compress_epi32(flags, numbers));
  return static_cast<size_t>(__builtin_popcount(flags));
}

// Returns which of 8 items pass; bit i is item i. `nulls` and `flip` have all eight bits or none.
TS_TARGET_AVX512 inline unsigned Passing(const int64_t* items, __m512i lo, __m512i hi,
                                         unsigned flip) {
  const __m512i item = _mm512_loadu_si512(items);
  return _mm512_mask_cmple_epi64_mask(_mm512_cmple_epi64_mask(lo, item), item, hi) ^ flip;
}
TS_TARGET_AVX512 inline unsigned Passing(const double* items, __m512d lo, __m512d hi,
                                         unsigned nulls, unsigned flip) {
  const __m512d item = _mm512_loadu_pd(items);
  const unsigned inside =
      _mm512_mask_cmp_pd_mask(_mm512_cmp_pd_mask(lo, item, _CMP_LE_OQ), item, hi, _CMP_LE_OQ);
  return (inside | (_mm512_cmp_pd_mask(item, item, _CMP_UNORD_Q) & nulls)) ^ flip;
}

template <>
TS_TARGET_AVX512 size_t Avx512<int64_t>::Lead(const int64_t* items, size_t n,
                                              const Interval<int64_t>& interval) {
  const __m512i lo = _mm512_set1_epi64(interval.lo), hi = _mm512_set1_epi64(interval.hi);
  const unsigned flip = interval.negated ? 255 : 0;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    if ((Passing(items + i, lo, hi, flip) & Passing(items + i + 8, lo, hi, flip)) != 255) break;
  }
  return i + LeadByOne(items + i, n - i, interval);
}

template <>
TS_TARGET_AVX512 size_t Avx512<double>::Lead(const double* items, size_t n,
                                             const Interval<double>& interval) {
  const __m512d lo = _mm512_set1_pd(interval.lo), hi = _mm512_set1_pd(interval.hi);
  const unsigned flip = interval.negated ? 255 : 0, nulls = interval.with_nulls ? 255 : 0;
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    const unsigned both =
        Passing(items + i, lo, hi, nulls, flip) & Passing(items + i + 8, lo, hi, nulls, flip);
    if (both != 255) break;
  }
  return i + LeadByOne(items + i, n - i, interval);
}

// The lanes are in two vectors, which do not wait for each other.
template <>
TS_TARGET_AVX512 void Avx512<int64_t>::Add(const int64_t* items, size_t n,
                                           Totals<int64_t>& totals) {
  const __m512i null = _mm512_set1_epi64(INT64_MIN), one = _mm512_set1_epi64(1);
  __m512i sums[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  __m512i nulls[2] = {_mm512_setzero_si512(), _mm512_setzero_si512()};
  size_t i = 0;
  for (; i + 16 <= n; i += 16) {
    for (size_t half = 0; half < 2; ++half) {
      const __m512i item = _mm512_loadu_si512(items + i + 8 * half);
      const __mmask8 there = _mm512_cmpneq_epi64_mask(item, null);
      sums[half] = _mm512_mask_add_epi64(sums[half], there, sums[half], item);
      nulls[half] =
          _mm512_mask_add_epi64(nulls[half], static_cast<__mmask8>(~there), nulls[half], one);
    }
  }
  uint64_t lanes[2][kLanes];
  _mm512_storeu_si512(lanes[0], _mm512_add_epi64(sums[0], sums[1]));
  _mm512_storeu_si512(lanes[1], _mm512_add_epi64(nulls[0], nulls[1]));
  for (size_t lane = 0; lane < kLanes; ++lane) {
    totals.sums[lane] += lanes[0][lane];
    totals.nulls[lane] += lanes[1][lane];
  }
  AddLoop(items + i, n - i, totals.sums, totals.nulls);
}

template <>
TS_TARGET_AVX512 size_t Avx512<int64_t>::Select(const int64_t* items, size_t n,
                                                const Interval<int64_t>& interval,
                                                uint32_t first_row, uint32_t* rows) {
  const __m512i lo = _mm512_set1_epi64(interval.lo), hi = _mm512_set1_epi64(interval.hi);
  const unsigned flip = interval.negated ? 255 : 0;
  size_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    count += KeepFlagged8(static_cast<__mmask8>(Passing(items + i, lo, hi, flip)),
                          first_row + static_cast<uint32_t>(i), rows + count);
  }
  return count +
         SelectLoop(items + i, n - i, interval, first_row + static_cast<uint32_t>(i), rows + count);
}

template <>
TS_TARGET_AVX512 size_t Avx512<double>::Select(const double* items, size_t n,
                                               const Interval<double>& interval, uint32_t first_row,
                                               uint32_t* rows) {
  const __m512d lo = _mm512_set1_pd(interval.lo), hi = _mm512_set1_pd(interval.hi);
  const unsigned flip = interval.negated ? 255 : 0, nulls = interval.with_nulls ? 255 : 0;
  size_t count = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    count += KeepFlagged8(static_cast<__mmask8>(Passing(items + i, lo, hi, nulls, flip)),
                          first_row + static_cast<uint32_t>(i), rows + count);
  }
  return count +
         SelectLoop(items + i, n - i, interval, first_row + static_cast<uint32_t>(i), rows + count);
}

template <>
TS_TARGET_AVX512 size_t Avx512<int32_t>::Select(const int32_t* items, size_t n,
                                                const Interval<int32_t>& interval,
                                                uint32_t first_row, uint32_t* rows) {
  const __m512i lo = _mm512_set1_epi32(interval.lo), hi = _mm512_set1_epi32(interval.hi);
  const __m512i iota = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const unsigned flip = interval.negated ? 0xffff : 0;
  size_t count = 0, i = 0;
  for (; i + 16 <= n; i += 16) {
    const __m512i item = _mm512_loadu_si512(items + i);
    const unsigned inside =
        _mm512_mask_cmple_epi32_mask(_mm512_cmple_epi32_mask(lo, item), item, hi);
    const auto flags = static_cast<__mmask16>(inside ^ flip);
    const __m512i numbers = _mm512_add_epi32(
        _mm512_set1_epi32(static_cast<int>(first_row + static_cast<uint32_t>(i))), iota);
    _mm512_storeu_si512(rows + count, _mm512_maskz_compress_epi32(flags, numbers));
    count += static_cast<size_t>(__builtin_popcount(flags));
  }
  return count +
         SelectLoop(items + i, n - i, interval, first_row + static_cast<uint32_t>(i), rows + count);
}

#endif

template <template <typename> typename Version, typename T>
constexpr NumberKernels<T> kKernels = {Version<T>::Max,  Version<T>::Min,
                                       Version<T>::Add,  Version<T>::AddAsFloats,
                                       Version<T>::Lead, Version<T>::Select};

}  // namespace

template <typename T>
const NumberKernels<T>& KernelsFor(Vectors vectors) {
#if defined(__x86_64__)
  if (vectors == Vectors::kAvx512) return kKernels<Avx512, T>;
  if (vectors == Vectors::kAvx2) return kKernels<Avx2, T>;
#endif
  static_cast<void>(vectors);
  return kKernels<Plain, T>;
}

template const NumberKernels<uint8_t>& KernelsFor<uint8_t>(Vectors);
template const NumberKernels<int16_t>& KernelsFor<int16_t>(Vectors);
template const NumberKernels<int32_t>& KernelsFor<int32_t>(Vectors);
template const NumberKernels<int64_t>& KernelsFor<int64_t>(Vectors);
template const NumberKernels<float>& KernelsFor<float>(Vectors);
template const NumberKernels<double>& KernelsFor<double>(Vectors);

}  // namespace tickstack::query
