#pragma once

// Loops over contiguous numbers: what aggregates and conditions come down to. Each comes in
// versions for the vectors that a machine may have (base/cpu.h), which all answer the same, to the
// bit.
//
// What bounds them is memory: a core reads 10 to 20 GB/s of what is not in its caches, which is 4
// to 8 bytes a cycle. Wider vectors therefore save time where elements are narrow or in a cache,
// and where a step is more than a comparison: the row numbers that pass an interval are compressed
// by one instruction for 8 or 16 elements.

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/cpu.h"

namespace tickstack::query {

// Which elements pass: those in [lo, hi], and floats' nulls by a flag of their own; or all others.
template <typename T>
struct Interval {
  T lo;
  T hi;
  bool with_nulls = false;
  bool negated = false;

  bool Contains(T element) const {
    // Without a jump, so that it becomes vector code.
    bool inside = (lo <= element) & (element <= hi);
    if constexpr (std::is_floating_point_v<T>) inside |= with_nulls & (element != element);
    return inside ^ negated;
  }
};

// Accumulators that do not wait for each other: item i of a loop goes to lane i % kLanes, and lanes
// are added in their order. So the order in which floats are added is the same on every machine.
inline constexpr size_t kLanes = 8;

template <typename T>
struct Totals {
  // Ints wrap; they are summed as floats for averages.
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, uint64_t>;
  std::array<Sum, kLanes> sums{};
  std::array<double, kLanes> float_sums{};
  std::array<uint64_t, kLanes> nulls{};
};

// How many items beyond those that pass SelectRows may write.
inline constexpr size_t kSelectSlack = 16;

// T: uint8_t, int16_t, int32_t, int64_t, float, double.
template <typename T>
struct NumberKernels {
  // The largest and the smallest of `n` items and `best`; nulls do not count.
  T (*max)(const T* items, size_t n, T best);
  T (*min)(const T* items, size_t n, T best);
  // Adds what is not null to `sums`, or to `float_sums`, and counts the nulls.
  void (*add)(const T* items, size_t n, Totals<T>& totals);
  void (*add_as_floats)(const T* items, size_t n, Totals<T>& totals);
  // How many items from the first one on pass without a gap. Cost: a read of those.
  size_t (*lead)(const T* items, size_t n, const Interval<T>& interval);
  // Writes first_row + i for each item i that passes to `rows`, which has room for n + kSelectSlack
  // of them, and returns how many.
  size_t (*select)(const T* items, size_t n, const Interval<T>& interval, uint32_t first_row,
                   uint32_t* rows);
};

// The versions for some vectors, which the machine has.
template <typename T>
const NumberKernels<T>& KernelsFor(Vectors vectors);

// The fastest on this machine.
template <typename T>
const NumberKernels<T>& Kernels() {
  return KernelsFor<T>(BestVectors());
}

}  // namespace tickstack::query
