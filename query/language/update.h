#pragma once

// `update` and `delete`: return a table with changed or without some rows or columns. The result is
// a value of the request; captured and stored tables do not change.

#include "absl/status/statusor.h"
#include "query/columns/table_view.h"
#include "query/grouping/group_keys.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// Evaluates the columns of `update` over the rows `left`, which met the conditions (with `by`, over
// each group of them), and replaces the items of these rows. A column may change its type if it is
// assigned in all rows; otherwise another type is the error `type`. A new column has nulls in the
// other rows.
//
// Cost: a copy of the columns that change.
absl::StatusOr<Term> UpdateTable(Context& context, const Query& query, const TableView& view,
                                 RemainingRows left);
// Returns the table without the rows `left`, or without the columns that the query names.
absl::StatusOr<Term> DeleteFromTable(Context& context, const Query& query, const TableView& view,
                                     RemainingRows left);

}  // namespace tickstack::query
