#pragma once

// Computes one aggregate for many ranges of a vector's items, which may overlap, for window joins.
//
// Short ranges are folded in place. If ranges are long in total, a tree over the items has the fold
// of each aligned block of 2, 4, 8... items, and a range is combined from at most two blocks of
// each size: O(log n) per range, however long. Sums of floats are then added in the order of the
// tree. Their rounding errors grow with log n instead of n, and do not spread from one range to
// another, as they would with differences of running sums.
//
//   blocks  |       8       |
//           |   4   |   4   |
//           | 2 | 2 | 2 | 2 |
//   items   |1|1|1|1|1|1|1|1|        items 1 to 6 = 1 + 2 + 2 + 1

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

struct ItemRange {
  uint32_t begin, end;  // begin <= end.
};

enum class RangeKind { kCount, kFirst, kLast, kMax, kMin, kSum, kAvg };

// Returns the kind of a function, if ranges of vectors of that type have a kernel here.
std::optional<RangeKind> RangeKindOf(std::string_view function, Type type);

// Returns a vector with the aggregate of each range; `items` is a vector for which RangeKindOf
// returned the kind. Results equal those of the function itself; sums and averages of floats,
// within rounding.
absl::StatusOr<Value> AggregateRanges(RangeKind kind, const Value& items,
                                      std::span<const ItemRange> ranges, Budget& budget);

}  // namespace tickstack::query
