#pragma once

// Joins of two tables by equal keys (code.kx.com/q/ref: lj, ij, ej, pj). Nulls are equal to each
// other, floats exactly. The left table's rows keep their order.
//
// Cost:   a hash a row and key column of either side (keys.h); of the result's columns what is
//         named (joined_columns.h).
// Errors: `type` for a right table without keys, keys of other types, or a column that both have
//         with different types where some row has no match; the name of a key column that the left
//         table lacks; `limit` for a result that has no row numbers.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/joins/joined_columns.h"
#include "table/value.h"

namespace tickstack::query {

// left lj right: each left row, with the columns of the first right row that has its keys. Where
// none has, columns of both keep the left item, others are null.
absl::StatusOr<TableView> LeftJoin(const TableView& left, const TableView& right,
                                   RightNull right_null, Budget& budget);

// left ij right: the same of the left rows that have a match.
absl::StatusOr<TableView> InnerJoin(const TableView& left, const TableView& right,
                                    RightNull right_null, Budget& budget);

// ej[columns;left;right]: each pair of a left and a right row with equal `columns`; neither table's
// own keys matter.
absl::StatusOr<TableView> EquiJoin(const Value& columns, const TableView& left,
                                   const TableView& right, Budget& budget);

// left pj right: each left row; columns of both are added up, others are the right ones; what is
// not found or null counts as zero. Copies the right table's columns.
absl::StatusOr<TableView> PlusJoin(const TableView& left, const TableView& right, Budget& budget);

}  // namespace tickstack::query
