#pragma once

// Converts times of any type to 64-bit integers with the same order, so that joins and sorts need
// code for one type only.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/types.h"

namespace tickstack::query {

// A null becomes kNullLong, so nulls come first. Other integers do not change. A floating-point
// number becomes its bits or, if it is negative, minus the bits of its absolute value.
template <typename T>
int64_t OrderedTime(T time) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(time)) return kNullLong;
    const auto bits = std::bit_cast<int64_t>(double{time} + 0.0);
    return bits < 0 ? -(bits & kInfinityLong) : bits;
  } else if constexpr (std::is_signed_v<T>) {
    return time == std::numeric_limits<T>::min() ? kNullLong : int64_t{time};
  } else {
    return time;
  }
}

// Returns the floating-point number from which OrderedTime made `ordered`, which must not be null.
inline double FloatOfOrdered(int64_t ordered) {
  return ordered < 0 ? -std::bit_cast<double>(-ordered) : std::bit_cast<double>(ordered);
}

// `type` for symbols, lists and guids, which are no times.
absl::Status CheckTimeType(Type type);

// Returns the times of a slice as OrderedTime converts them. CheckTimeType must accept its type.
// The caller charges the memory: 8 bytes per row.
absl::StatusOr<ScratchVector<int64_t>> OrderedTimes(const Slice& slice, const Budget& budget);

// Rows of one key with their times, in ascending order of time after Sort. Rows with equal times
// stay in row order.
struct TimedRows {
  ScratchVector<uint32_t> rows;
  ScratchVector<int64_t> times;

  // Bytes that a row needs while it is sorted.
  static constexpr size_t kBytesPerRow = 2 * (sizeof(uint32_t) + sizeof(int64_t)) + 8;

  // Returns the rows at `positions`, which ascend, with their times, sorted.
  static TimedRows Pick(std::span<const uint32_t> positions, std::span<const int64_t> times);
  void Sort();
};

}  // namespace tickstack::query
