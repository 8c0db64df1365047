#pragma once

#include "absl/status/statusor.h"
#include "query/budget.h"
#include "query/type_rules.h"
#include "table/value.h"

namespace tickstack::query {

// `x op y`, item by item: atoms, vectors, and lists of them down to their atoms; an atom goes with
// every item of the other side. A dictionary goes with an atom by its values.
//
//   nulls       arithmetic with a null gives a null; comparison puts nulls first, and they are
//   equal overflow    wraps, as the machine does floats      compare within a relative tolerance of
//   2^-43 temporals   in their common unit; an instant meets a time of day by its own time of day
//
// Errors: `type`, `length` for vectors of different counts, `nyi` for tables, `stack` for lists
//         nested more than 100 deep, and what the budget says.
// Cost:   one pass in blocks that stay in the first-level cache, about 1 to 2 ns an item.
absl::StatusOr<Value> ApplyAtomic(AtomicOp op, const Value& x, const Value& y, Budget& budget);

// Item by item: is it null, is it zero.
absl::StatusOr<Value> NullFlags(const Value& x, Budget& budget);
absl::StatusOr<Value> NotFlags(const Value& x, Budget& budget);
// Item by item: minus it; its absolute value.
absl::StatusOr<Value> Negate(const Value& x, Budget& budget);
absl::StatusOr<Value> Absolute(const Value& x, Budget& budget);

}  // namespace tickstack::query
