#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "table/value.h"

namespace tickstack::query {

// The positions where flags are set; of numbers each position as often as its number says, not at
// all for one below 1. Errors: `type` for items that are none of these, `limit`.
absl::StatusOr<Value> PositionsWhere(const Slice& slice, Budget& budget);

}  // namespace tickstack::query
