#pragma once

// One aggregate of many ranges of a vector's items, which may overlap: what window joins are made
// of.
//
// Short ranges are folded where they lie. Where they are long together, a tree over the items has
// the fold of each aligned block of 2, 4, 8... of them, and a range is put together out of at most
// two blocks of each size: O(log n) a range, however long. Sums of floats are then added in the
// order of the tree, whose rounding errors grow with log n and not with n, and do not leak from one
// range into another, as they would with differences of running sums.
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

// The kind that a function is, if ranges of vectors of that type have a kernel here.
std::optional<RangeKind> RangeKindOf(std::string_view function, Type type);

// A vector of the aggregate of each range; `items` is a vector for which RangeKindOf gave the kind.
// The results are those of the function itself, sums and averages of floats within rounding.
absl::StatusOr<Value> AggregateRanges(RangeKind kind, const Value& items,
                                      std::span<const ItemRange> ranges, Budget& budget);

}  // namespace tickstack::query
