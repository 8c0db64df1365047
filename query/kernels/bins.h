#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Binary searches in an ascending vector x. `bin` returns the position of the last item that is at
// most y, -1 for none; `binr` that of the first item that is at least y, count x for none. Nulls
// are the smallest, and floats are compared exactly. Descends into lists and dictionaries in y,
// which has the type of x.
//
// If x does not ascend, the result is some position.
// Errors: `type` for an x that is no vector, or of another type.
// Cost:   log2(count x) comparisons per item of y.
absl::StatusOr<Value> LastAtMost(const Value& x, const Value& y, Budget& budget);
absl::StatusOr<Value> FirstAtLeast(const Value& x, const Value& y, Budget& budget);

}  // namespace tickstack::query
