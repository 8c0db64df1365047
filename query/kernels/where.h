#pragma once

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the positions where flags are set. For numbers, each position is repeated as often as its
// number says, and omitted for a number below 1. Errors: `type` for other items, `limit`.
absl::StatusOr<Value> PositionsWhere(const Slice& slice, Budget& budget);

}  // namespace tickstack::query
