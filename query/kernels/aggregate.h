#pragma once

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Aggregates of a column, which is read in place without a copy.
//
//   max        keeps the type and ignores nulls; minus infinity if there are only nulls or no items
//   min        keeps the type and ignores nulls; plus infinity if there are only nulls or no items
//   sum        nulls count as 0; sums of ints are ints and wrap, as in q; 0 without items
//   prd        like sum, but nulls count as 1; 1 without items
//   avg        a float; nulls are left out; null without items
//   all        a boolean: whether no item is zero; nulls are not zero; true without items
//   any        a boolean: whether some item is not zero; false without items
//
// The items of a list that is not a vector are combined with the function's operator, such as + for
// sum. Nulls are then not ignored.
//
// Cost:   one read of the elements. For a range of rows it is bound by memory bandwidth (an 8-byte
//         column: about 1 ns per row at 8 GB/s), and for scattered rows by the gather.
// Errors: `type` for types that q's reference excludes: symbols, guids, sums of text.
absl::StatusOr<Value> Max(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Min(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Sum(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Product(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Avg(const Slice& slice, Budget& budget);

absl::StatusOr<Value> AllTrue(const Slice& slice, Budget& budget);
absl::StatusOr<Value> AnyTrue(const Slice& slice, Budget& budget);

// Returns the weighted average (sum w*x) % sum w, or the weighted sum (sum w*x), as a float. Rows
// where one of both is null are left out. The columns are not copied. `length` if counts differ.
absl::StatusOr<Value> WeightedAvg(const Slice& weights, const Slice& values, Budget& budget);
absl::StatusOr<Value> WeightedSum(const Slice& weights, const Slice& values, Budget& budget);

// Return the first and the last item; without items, the null of the type.
absl::StatusOr<Value> First(const Slice& slice);
absl::StatusOr<Value> Last(const Slice& slice);

}  // namespace tickstack::query
