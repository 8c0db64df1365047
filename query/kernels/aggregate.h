#pragma once

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Aggregates of a column, read in place without a copy.
//
//   max, min   keep the type and ignore nulls; without items (or with only nulls), minus or plus
//              infinity
//   sum        nulls count as 0; ints stay ints and wrap, as in q; 0 without items
//   prd        as sum, but nulls count as 1; 1 without items
//   avg        a float; nulls are left out; null without items
//   all, any   a boolean: whether all items, or any, are nonzero; a null is nonzero; without items
//              true and false
//
// A list that is no vector is folded item by item with the operator, which does not ignore nulls.
//
// Cost:   one read of the elements, bound by memory bandwidth for a range of rows (an 8-byte
//         column: about 1 ns per row at 8 GB/s), by the gather for scattered rows.
// Errors: `type` for types that q's reference excludes: symbols, guids, sums of text.
absl::StatusOr<Value> Max(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Min(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Sum(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Product(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Avg(const Slice& slice, Budget& budget);

absl::StatusOr<Value> AllTrue(const Slice& slice, Budget& budget);
absl::StatusOr<Value> AnyTrue(const Slice& slice, Budget& budget);

// Returns the weighted average (sum w*x) % sum w over rows where neither is null, as a float. Also
// reads block by block. `length` if the counts differ.
absl::StatusOr<Value> WeightedAvg(const Slice& weights, const Slice& values, Budget& budget);
absl::StatusOr<Value> WeightedSum(const Slice& weights, const Slice& values, Budget& budget);

// Return the first and the last item; the null of the type without items.
absl::StatusOr<Value> First(const Slice& slice);
absl::StatusOr<Value> Last(const Slice& slice);

}  // namespace tickstack::query
