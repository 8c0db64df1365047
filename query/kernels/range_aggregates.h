#pragma once

// Computes an aggregate of many ranges of a vector's items, for window joins. Ranges may overlap.
//
// If the ranges are short in total, the items of each range are read. Otherwise a tree is built
// that has the aggregate of each aligned block of 2, 4, 8... items. The aggregate of a range is
// combined from at most two blocks of each size, which takes O(log n) however long the range is.
// Floats are then added in the order of the tree: rounding errors grow with log n instead of n. A
// rounding error or infinity in one range does not affect other ranges, as it would with
// differences of running sums.
//
//   blocks  |       8       |
//           |   4   |   4   |
//           | 2 | 2 | 2 | 2 |
//   items   |1|1|1|1|1|1|1|1|        items 1 to 6: blocks of 1 + 2 + 2 + 1 items

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

// Returns the kind for a function of vectors of that type; nullopt if it is not supported here.
std::optional<RangeKind> RangeKindOf(std::string_view function, Type type);

// Returns a vector with the aggregate of each range. RangeKindOf must return `kind` for the type of
// `items`. Results equal those of the function itself, sums and averages of floats within rounding.
absl::StatusOr<Value> AggregateRanges(RangeKind kind, const Value& items,
                                      std::span<const ItemRange> ranges, Budget& budget);

}  // namespace tickstack::query
