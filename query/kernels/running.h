#pragma once

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Functions whose result for each item depends on it and the items before it.
//
//   sums, prds   nulls count as 0 and 1; the type is that of the sum (ints for bytes and shorts)
//   maxs, mins   nulls are left out: minus or plus infinity before the first item that is not null
//   deltas       the first item, and the difference of each other item from the previous one;
//                differences of instants are durations: timespans, or ints of months and days
//   ratios       the first item, and each other one divided by the previous one, as floats
//   avgs         the average of the items so far that are not null, as a float
//   fills        a null becomes the previous item that is not null
//   differ       whether it differs from the previous item, by `~`; true for the first one
//   prev, next   the previous and the next item; null if there is none; Shifted: the
//                one `back` items before
//
// A list that is no vector is folded item by item with the operator, which does not leave out
// nulls.
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
