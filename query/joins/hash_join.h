#pragma once

// Joins two tables by equal keys (code.kx.com/q/ref: lj, ij, ej, pj). Nulls equal each other, and
// floats are compared exactly. The left table's rows keep their order.
//
// Cost:   a hash per row and key column of either side (keys.h); of the result's columns, only
//         those that are named (joined_columns.h).
// Errors: `type` for a right table without keys, for keys of different types, or for a column that
//         both have with different types if some row has no match; the name of a key column that
//         the left table lacks; `limit` for a result with too many rows.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/joins/joined_columns.h"
#include "table/value.h"

namespace tickstack::query {

// left lj right: each left row, with the columns of the first right row with the same keys. In rows
// without a match, columns of both keep the left item, and other columns are null.
absl::StatusOr<TableView> LeftJoin(const TableView& left, const TableView& right,
                                   RightNull right_null, Budget& budget);

// left ij right: the same, but only left rows with a match.
absl::StatusOr<TableView> InnerJoin(const TableView& left, const TableView& right,
                                    RightNull right_null, Budget& budget);

// ej[columns;left;right]: each pair of a left and a right row with equal `columns`. The tables' own
// keys do not matter.
absl::StatusOr<TableView> EquiJoin(const Value& columns, const TableView& left,
                                   const TableView& right, Budget& budget);

// left pj right: each left row; columns of both are added, others are those of the right table. A
// missing or null item counts as zero. Copies the right table's columns.
absl::StatusOr<TableView> PlusJoin(const TableView& left, const TableView& right, Budget& budget);

}  // namespace tickstack::query
