#pragma once

// Aggregates of moving windows: for each item, of that item and the width-1 items before it (of
// fewer at the beginning).
//
// No window is computed from the previous one by subtracting an item. Items are divided into blocks
// as long as a window, and each window is the end of one block and the beginning of the next:
//
//   block      |  a  b  c  d  |  e  f  g  h  |
//   window           [c  d       e  f]          aggregate(c d) with aggregate(e f)
//
// The aggregates of block ends are computed when a block is full, and those of beginnings as items
// come: three steps per item, whatever the width. So a large item, a rounding error or an infinity
// disappears with its item, whereas a running sum would keep the lost digits. Maxima need no queue.
// A deviation is combined from two means and sums of squares, instead of the difference of two
// large numbers.

#include <cstddef>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

//   msum           nulls count as 0; the type is that of the sum
//   mcount         the number of items that are not null, as an int; for any type of items
//   mavg, mdev     floats over the items that are not null; null if all are null
//   mmax, mmin     keep the type; a null is the smallest item, and before the first item there is
//                  minus (mmin: plus) infinity, as if q's `|':` and `&':` were applied width-1
//                  times
//
// width > 0.
// Errors: `type` for items without a sum or an order, `nyi` for lists of lists.
// Cost:   one pass, and 8 to 24 bytes per item of a window; the column is not copied first.
absl::StatusOr<Value> MovingSum(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingCount(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingAverage(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingDeviation(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingMax(size_t width, const Slice& slice, Budget& budget);
absl::StatusOr<Value> MovingMin(size_t width, const Slice& slice, Budget& budget);

// x ema y, as floats: the first result is the first item; each later one is x times the item plus
// 1-x times the previous result; null from the first null on. x is a number, or one for each item:
// `length`.
absl::StatusOr<Value> ExponentialAverage(const Value& weights, const Slice& slice, Budget& budget);

}  // namespace tickstack::query
