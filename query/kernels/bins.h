#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Binary searches: `bin`, where in an ascending vector x the last item is that is at most y, -1 for
// none; `binr`, where the first is that is at least y, count x for none. Nulls are the smallest,
// floats are compared exactly. y goes down into lists and dictionaries; y has the type of x.
//
// An x that does not ascend has some position for an answer.
// Errors: `type` for an x that is no vector or of another type.
// Cost:   log2(count x) comparisons an item of y.
absl::StatusOr<Value> LastAtMost(const Value& x, const Value& y, Budget& budget);
absl::StatusOr<Value> FirstAtLeast(const Value& x, const Value& y, Budget& budget);

}  // namespace tickstack::query
