#pragma once

// Aggregates of moving windows. The window of an item is that item and the width-1 items before it;
// at the beginning there are fewer.
//
// Items are divided into blocks as long as a window, so that each window is the end of one block
// and the beginning of the next:
//
//   block      |  a  b  c  d  |  e  f  g  h  |
//   window           [c  d       e  f]          combines aggregate(c d) and aggregate(e f)
//
// When a block is full, the aggregates of all of its ends are computed: of its last item, of its
// last two items, and so on. The aggregate of the beginning is updated with each item. That takes
// three steps per item, whatever the width. A running sum from which the oldest item is subtracted
// would be simpler, but it would keep the effects of a large item, a rounding error or an infinity
// after that item has left the window. Maxima need no queue. A deviation is computed from the means
// and sums of squares of both parts, instead of the difference of two large numbers.

#include <cstddef>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

//   msum           nulls count as 0; the type is that of the sum
//   mcount         the number of items that are not null, as an int; for any type of items
//   mavg, mdev     floats over the items that are not null; null if all are null
//   mmax, mmin     keep the type; a null is the smallest item. The items that the first windows
//                  lack count as minus infinity for mmax and plus infinity for mmin, as if q's
//                  `|':` or `&':` were applied width-1 times.
//
// `width` must be above 0.
// Errors: `type` for items without a sum or an order, `nyi` for lists of lists.
// Cost:   one pass, and 8 to 24 bytes per item of a window; the column is not copied first.
absl::StatusOr<Value> MovingSum(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingCount(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingAverage(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingDeviation(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingMax(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingMin(size_t width, const Slice& slice, Budget& budget);

// Returns x ema y as floats. The first result is the first item. Each later one is x times the item
// plus 1-x times the previous result; all are null from the first null on. x is a number, or a
// vector with one number per item: otherwise `length`.
absl::StatusOr<Value> ExponentialAverage(const Value& weights, const Slice& slice, Budget& budget);

}  // namespace tickstack::query
