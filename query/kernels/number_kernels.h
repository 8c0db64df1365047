#pragma once

// Loops over contiguous numbers, for aggregates and conditions. Each exists in versions for several
// vector widths (base/vector_targets.h), whose results are equal bit for bit.
//
// Memory bounds them: a core reads 10 to 20 GB/s from outside its caches, which is 4 to 8 bytes per
// cycle. So wider vectors save time if elements are narrow or in a cache, or if a step is more than
// a comparison: one instruction compresses the row numbers that pass an interval for 8 or 16
// elements.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tickstack::query {

// Which elements pass: those in [lo, hi], and nulls of floats by a separate flag; or all others.
template <typename T>
struct Interval {
  T lo;
  T hi;
  bool with_nulls = false;
  bool negated = false;

  bool Contains(T element) const {
    // Without a jump, so that it can be vectorized.
    bool inside = (lo <= element) & (element <= hi);
    if constexpr (std::is_floating_point_v<T>) inside |= with_nulls & (element != element);
    return inside ^ negated;
  }
};

// Independent accumulators: item i of a loop is added to lane i % kLanes, and lanes are added in
// order. So the order in which floats are added is the same on every machine.
inline constexpr size_t kLanes = 8;

template <typename T>
struct Totals {
  // Ints wrap; for averages they are summed as floats.
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  std::array<Sum, kLanes> sums{};
  std::array<double, kLanes> float_sums{};
  std::array<uint64_t, kLanes> nulls{};
};

// Items beyond the passing ones that SelectRows may write.
inline constexpr size_t kSelectSlack = 16;

// T: uint8_t, int16_t, int32_t, int64_t, float, double.
template <typename T>
struct NumberKernels {
  // Returns the largest, and the smallest, of `n` items and `best`; nulls do not count.
  T (*max)(const T* items, size_t n, T best);
  T (*min)(const T* items, size_t n, T best);
  // Adds items that are not null to `sums`, or to `float_sums`, and counts the nulls.
  void (*add)(const T* items, size_t n, Totals<T>& totals);
  void (*add_as_floats)(const T* items, size_t n, Totals<T>& totals);
  // Returns how many leading items pass without a gap. Cost: a read of these.
  size_t (*lead)(const T* items, size_t n, const Interval<T>& interval);
  // Writes first_row + i for each passing item i to `rows`, which has room for n + kSelectSlack
  // numbers, and returns how many there are.
  size_t (*select)(const T* items, size_t n, const Interval<T>& interval, uint32_t first_row,
                   uint32_t* rows);
};

// A version of the kernels; for tests and benchmarks.
template <typename T>
struct KernelVersion {
  const char* name;  // Highway's name of the instruction set, such as "AVX3".
  const NumberKernels<T>* kernels;
};

// Returns the versions that this machine supports, the fastest first.
template <typename T>
std::vector<KernelVersion<T>> KernelVersions();

namespace internal {
template <typename T>
const NumberKernels<T>& BestKernels();
}  // namespace internal

// Returns the fastest version for this machine. Cost: a load.
template <typename T>
const NumberKernels<T>& Kernels() {
  static const NumberKernels<T>& best = internal::BestKernels<T>();
  return best;
}

}  // namespace tickstack::query
