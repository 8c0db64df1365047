#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

// Aggregates of a column where it lies: nothing is copied.
//
//   max, min   the type stays; nulls are ignored; of nothing (or only nulls) minus or plus infinity
//   sum        nulls count as 0; ints stay ints and wrap, as in q; of nothing 0
//   prd        as sum: nulls count as 1; of nothing 1
//   avg        a float; nulls are left out; of nothing null
//   all, any   a boolean: whether all items, or any, are other than 0; a null is; of nothing true,
//   false
//
// A list that is no vector is folded item by item with the operator, where nulls are not ignored.
//
// Cost:   one read of the elements, bound by memory bandwidth for a range of rows (an 8-byte
// column:
//         about 1 ns a row at 8 GB/s), by the gather for scattered rows.
// Errors: `type` where the reference has none: symbols, guids, sums of text.
absl::StatusOr<Value> Max(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Min(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Sum(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Product(const Slice& slice, Budget& budget);
absl::StatusOr<Value> Avg(const Slice& slice, Budget& budget);

absl::StatusOr<Value> AllTrue(const Slice& slice, Budget& budget);
absl::StatusOr<Value> AnyTrue(const Slice& slice, Budget& budget);

// The weighted average (sum w*x) % sum w over rows where neither is null, as a float; read block by
// block as well. `length` if the counts differ.
absl::StatusOr<Value> WeightedAvg(const Slice& weights, const Slice& values, Budget& budget);
absl::StatusOr<Value> WeightedSum(const Slice& weights, const Slice& values, Budget& budget);

// The first and last item; of nothing the null of the type.
absl::StatusOr<Value> First(const Slice& slice);
absl::StatusOr<Value> Last(const Slice& slice);

}  // namespace tickstack::query
