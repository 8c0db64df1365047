#pragma once

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the positions of the true items of a boolean slice. For a slice of whole numbers, each
// position is repeated as often as the number there says, and omitted if it is below 1. Errors:
// `type` for other items, `limit`.
absl::StatusOr<Value> PositionsWhere(const Slice& slice, Budget& budget);

}  // namespace tickstack::query
