#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/kernels/type_rules.h"
#include "table/value.h"

namespace tickstack::query {

// Returns `x op y`, item by item, for atoms, vectors, and lists of these at any depth. An atom is
// combined with every item of the other argument, or with every value of a dictionary or table. Two
// dictionaries are combined by their keys, and two tables by their columns (dictionary.h).
//
//   fill       x^y is y, but x where y is null
//   nulls      arithmetic with a null gives a null; in comparisons a null equals any other null and
//              is less than everything else
//   overflow   integers wrap; an integer divided by zero (div, mod, xbar) is null
//   floats     are compared with a relative tolerance of 2^-43
//   temporals  are converted to their common unit; for an instant and a time of day, the times of
//              day are compared; %, div, mod and xbar use the underlying numbers, as in q
//
// Errors: `type`; `length` for vectors of different counts; `stack` for lists nested more than 100
//         deep; and those of the budget.
// Cost:   one pass in blocks that stay in the first-level cache, about 1 to 2 ns per item.
absl::StatusOr<Value> ApplyAtomic(AtomicOp op, const Value& x, const Value& y, Budget& budget);

}  // namespace tickstack::query
