#pragma once

// Loops over contiguous numbers, for aggregates and conditions. Each loop exists in versions for
// several vector widths (base/vector_targets.h), whose results are equal bit for bit.
//
// The loops are usually bound by memory: a core reads 10 to 20 GB/s from outside its caches, which
// is 4 to 8 bytes per cycle. So wider vectors save time if elements are narrow or in a cache, or if
// a step is more than a comparison. An example is `select`: one instruction extracts the numbers of
// the passing rows among 8 or 16 elements.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace tickstack::query {

// A condition on elements: those in [lo, hi] pass, and with `with_nulls` NaNs as well. With
// `negated`, all others pass.
template <typename T>
struct Interval {
  T lo;
  T hi;
  bool with_nulls = false;
  bool negated = false;

  bool Contains(T element) const {
    // Has no branch, so that it can be vectorized.
    bool inside = (lo <= element) & (element <= hi);
    if constexpr (std::is_floating_point_v<T>) inside |= with_nulls & (element != element);
    return inside ^ negated;
  }
};

// Sums have independent accumulators, the lanes: item i of a loop is added to lane i % kLanes, and
// at the end the lanes are added in order. So the order in which floats are added is the same on
// every machine.
inline constexpr size_t kLanes = 8;

template <typename T>
struct Totals {
  // Sums of ints wrap. For averages, ints are added to `float_sums` instead.
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  std::array<Sum, kLanes> sums{};
  std::array<double, kLanes> float_sums{};
  std::array<uint64_t, kLanes> nulls{};
};

// How many row numbers NumberKernels::select may write after those of the passing items.
inline constexpr size_t kSelectSlack = 16;

// T: uint8_t, int16_t, int32_t, int64_t, float, double.
template <typename T>
struct NumberKernels {
  // Return the largest (max) or the smallest (min) of the items and `best`; nulls do not count.
  T (*max)(const T* items, size_t n, T best);
  T (*min)(const T* items, size_t n, T best);
  // Add items that are not null to `sums` (add) or `float_sums` (add_as_floats), and count the
  // nulls.
  void (*add)(const T* items, size_t n, Totals<T>& totals);
  void (*add_as_floats)(const T* items, size_t n, Totals<T>& totals);
  // Returns how many items pass before the first one that does not. Cost: reads these items.
  size_t (*lead)(const T* items, size_t n, const Interval<T>& interval);
  // Writes first_row + i for each passing item i to `rows`, which has room for n + kSelectSlack
  // numbers, and returns how many there are.
  size_t (*select)(const T* items, size_t n, const Interval<T>& interval, uint32_t first_row,
                   uint32_t* rows);
};

// A version of the kernels, for tests and benchmarks.
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
