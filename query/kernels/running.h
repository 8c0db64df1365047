#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

// Functions that answer an item for each item, from it and those before it.
//
//   sums, prds   nulls count as 0, as 1; the type is that of the sum (ints from bytes and shorts)
//   maxs, mins   nulls are left out: minus or plus infinity before the first item that is none
//   deltas       the first item, and of each other one its difference to the one before;
//   differences
//                of instants are lengths: timespans, ints of months and days
//   ratios       the first item, and each other one divided by the one before, as floats
//   avgs         the average of the items so far that are not null, as a float
//   fills        a null is the item before that is none
//   differ       whether it is another item than the one before, as `~` has it; the first one is
//   prev, next   the item before, behind; null where there is none; Shifted: `back` items before
//
// A list that is no vector is folded item by item with the operator, where nulls are not left out.
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
