#pragma once

// `update` and `delete`: a table with some of its rows or columns changed. The result is a value of
// the request; what the process captured stays as it is.

#include "absl/status/statusor.h"
#include "query/columns/table_view.h"
#include "query/grouping/group_keys.h"
#include "query/language/ast.h"
#include "query/language/term.h"

namespace tickstack::query {

// `left` are the rows of `view` that met the conditions.
//
// update: the columns, evaluated over those rows (with `by`, group by group), replace what the rows
// had. A column that all rows get anew may change its type, one of some rows may not (`type`); a
// new one has nulls in the other rows. Columns that are not named are not copied.
// delete: those rows, or columns, are left out.
//
// Cost: a copy of the columns that change.
absl::StatusOr<Term> UpdateTable(Context& context, const Query& query, const TableView& view,
                                 RemainingRows left);
absl::StatusOr<Term> DeleteFromTable(Context& context, const Query& query, const TableView& view,
                                     RemainingRows left);

}  // namespace tickstack::query
