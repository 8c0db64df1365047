#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"

namespace tickstack::query {

// Returns the view without rows that equal an earlier row. No column is copied. Floats are compared
// exactly.
//
// Cost:   a hash per row and column.
// Errors: `nyi` for keyed tables and columns of lists.
absl::StatusOr<TableView> DistinctRows(const TableView& view, Budget& budget);

}  // namespace tickstack::query
