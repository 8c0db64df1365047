#pragma once

// `update` and `delete`: return a table with some of its rows or columns changed. The result is a
// value of the request; captured tables do not change.

#include "absl/status/statusor.h"
#include "query/columns/table_view.h"
#include "query/grouping/group_keys.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// `left` are the rows of `view` that met the conditions.
//
// update: the columns, evaluated over those rows (with `by`, group by group), replace the rows'
// items. A column that is assigned in all rows may change its type; one that is assigned in some
// rows may not (`type`); a new column has nulls in the other rows. Columns that are not named are
// not copied. delete: removes those rows, or columns.
//
// Cost: a copy of the columns that change.
absl::StatusOr<Term> UpdateTable(Context& context, const Query& query, const TableView& view,
                                 RemainingRows left);
absl::StatusOr<Term> DeleteFromTable(Context& context, const Query& query, const TableView& view,
                                     RemainingRows left);

}  // namespace tickstack::query
