#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Joins the items of a list into one list, as `,/` does. Cost: a copy of all items.
absl::StatusOr<Value> Raze(Value x, Budget& budget);

// Returns x,y.
absl::StatusOr<Value> Join(const Value& x, const Value& y, Budget& budget);

}  // namespace tickstack::query
