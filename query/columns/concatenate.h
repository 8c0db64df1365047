#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Concatenates the items of a list's items, as `,/` does. Cost: that of the copy.
absl::StatusOr<Value> Raze(Value x, Budget& budget);

// Returns x,y.
absl::StatusOr<Value> Join(const Value& x, const Value& y, Budget& budget);

}  // namespace tickstack::query
