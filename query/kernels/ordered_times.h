#pragma once

// Times of any type as 64-bit integers of the same order, so that joins and sorts have one form.

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
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/types.h"

namespace tickstack::query {

// Nulls are kNullLong, so they come first. Integers and what counts units stays the same number;
// a floating-point number is its bits, those of negative ones turned round.
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

// The floating-point number that OrderedTime made `ordered` of; not of a null.
inline double FloatOfOrdered(int64_t ordered) {
  return ordered < 0 ? -std::bit_cast<double>(-ordered) : std::bit_cast<double>(ordered);
}

// `type` if there is no order of such a column: symbols, lists, guids.
absl::Status CheckTimeType(Type type);

// The times of a slice whose type CheckTimeType accepts. Memory is the caller's to charge: 8 bytes
// a row.
absl::StatusOr<ScratchVector<int64_t>> OrderedTimes(const Slice& slice, const Budget& budget);

// Rows of one key with their times, ascending by time; of equal times in row order.
struct TimedRows {
  ScratchVector<uint32_t> rows;
  ScratchVector<int64_t> times;

  // What a row takes while it is sorted.
  static constexpr size_t kBytesPerRow = 2 * (sizeof(uint32_t) + sizeof(int64_t)) + 8;

  // The rows at `positions`, which ascend, with their times.
  static TimedRows Pick(std::span<const uint32_t> positions, std::span<const int64_t> times);
  void Sort();
};

}  // namespace tickstack::query
