#pragma once

// Joins two tables by equal keys (code.kx.com/q/ref: lj, ij, ej, pj). Nulls equal each other, and
// floats are compared exactly. The left table's rows keep their order.
//
// Cost:   a hash per row and key column of either side (keys.h). The columns of the result are
//         gathered later, when they are needed (joined_columns.h).
// Errors: `type` for a right table without keys, for keys of different types, and, if a left row
//         has no match, for a column whose type differs between the tables; the name of a key
//         column that the left table lacks; `limit` for a result with too many rows.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/joins/joined_columns.h"
#include "table/value.h"

namespace tickstack::query {

// left lj right. Returns each left row with the columns of its match: the first right row with the
// same keys. In rows without a match, a column of both tables has the left item, and a column of
// the right table alone has a null.
absl::StatusOr<TableView> LeftJoin(const TableView& left, const TableView& right,
                                   RightNull right_null, Budget& budget);

// left ij right. Returns the rows of LeftJoin that have a match.
absl::StatusOr<TableView> InnerJoin(const TableView& left, const TableView& right,
                                    RightNull right_null, Budget& budget);

// ej[columns;left;right]. Returns each pair of a left and a right row with equal `columns`. If the
// tables have keys, these do not matter.
absl::StatusOr<TableView> EquiJoin(const Value& columns, const TableView& left,
                                   const TableView& right, Budget& budget);

// left pj right. Returns each left row with its match as in LeftJoin, but the items of a column of
// both tables are added. A right item that is missing or null counts as zero. Copies the right
// table's columns.
absl::StatusOr<TableView> PlusJoin(const TableView& left, const TableView& right, Budget& budget);

}  // namespace tickstack::query
