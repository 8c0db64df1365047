#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Binary searches in a vector x. Its items should ascend: otherwise the result is any position.
//
//   bin    LastAtMost: the position of the last item that is at most y; -1 if there is none
//   binr   FirstAtLeast: the position of the first item that is at least y; count x if there is
//          none
//
// Nulls are the smallest items, and floats are compared exactly. y may be an atom or a vector, or a
// list or dictionary of these.
//
// Errors: `type` if x is no vector, or if y has another type.
// Cost:   log2(count x) comparisons per item of y.
absl::StatusOr<Value> LastAtMost(const Value& x, const Value& y, Budget& budget);
absl::StatusOr<Value> FirstAtLeast(const Value& x, const Value& y, Budget& budget);

}  // namespace tickstack::query
