#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// All items of a list's items, one behind the other: what `,/` makes of it. Cost: that of the copy.
absl::StatusOr<Value> Raze(Value x, Budget& budget);

// x,y
absl::StatusOr<Value> Join(const Value& x, const Value& y, Budget& budget);

}  // namespace tickstack::query
