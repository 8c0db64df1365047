#pragma once

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Functions that return one result per item, which depends on the item and its neighbours.
//
//   sums, prds   nulls count as 0 and 1; the type is that of the sum (ints for bytes and shorts)
//   maxs, mins   nulls are left out; before the first item that is not null, the result is minus
//                infinity (maxs) or plus infinity (mins)
//   deltas       the first item; then each item minus the previous one. Differences of instants are
//                durations: timespans, or ints for months and days.
//   ratios       the first item; then each item divided by the previous one, as floats
//   avgs         the average of the items so far that are not null, as a float
//   fills        the item or, if it is null, the last item before it that is not null
//   differ       whether the item differs from the previous one, by `~`; true for the first item
//   prev, next   the previous or the next item; null if there is none
//   x xprev y    Shifted: the item `back` positions before; null if there is none
//
// The items of a list that is not a vector are combined with the function's operator, such as + for
// sums. Nulls are then not left out.
//
// Cost:   one pass; the column is not copied first. prev and next gather.
// Errors: `type` for symbols, guids, and for chars where the result would be a number.
absl::StatusOr<Value> Sums(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Products(const Slice& slice, Budget& budget);
absl::StatusOr<Value> RunningMax(const Slice& slice, Budget& budget);
absl::StatusOr<Value> RunningMin(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Deltas(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Ratios(const Slice& slice, Budget& budget);
absl::StatusOr<Value> RunningAverage(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Fills(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Differ(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Previous(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Next(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Shifted(const Slice& slice, int64_t back, Budget& budget);

}  // namespace tickstack::query
