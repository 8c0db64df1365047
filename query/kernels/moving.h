#pragma once

// Aggregates of moving windows: for each item that of it and the width-1 items before it, of fewer
// at the beginning.
//
// No window is ever made of the one before by taking its first item away. Items come in blocks as
// long as a window, and each window is the end of one block and the beginning of the next:
//
//   block      |  a  b  c  d  |  e  f  g  h  |
//   window           [c  d       e  f]          aggregate(c d) with aggregate(e f)
//
// The aggregates of the ends are made when a block is full, those of the beginnings as items come:
// three steps an item whatever the width. So a large item, a rounding error or an infinity is gone
// when its item leaves, where a running sum would keep what it did to the digits; maxima need no
// queue; and a deviation is put together of two means and sums of squares, not out of the
// difference of two large numbers.

#include <cstddef>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

//   msum           nulls count as 0; the type is that of the sum
//   mcount         how many are not null, as an int; of any type of items
//   mavg, mdev     floats of the items that are not null; null where all are
//   mmax, mmin     the type stays; a null is the smallest item, and before the first item there is
//                  minus (mmin: plus) infinity, as if q's `|':` and `&':` went width-1 times
//
// width > 0.
// Errors: `type` for items without a sum or an order, `nyi` for lists of lists.
// Cost:   one pass, and 8 to 24 bytes an item of a window; the column is not copied first.
absl::StatusOr<Value> MovingSum(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingCount(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingAverage(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingDeviation(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingMax(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingMin(size_t width, const Slice& slice, Budget& budget);

// x ema y: the first item, and then x of each item and 1-x of what came of the one before, as
// floats; null from the first null on. x is a number, or one for each item: `length`.
absl::StatusOr<Value> ExponentialAverage(const Value& weights, const Slice& slice, Budget& budget);

}  // namespace tickstack::query
