#pragma once

// The as-of joins aj, aj0, ajf and asof (asof_match.h has the rule and the kernels).

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/joins/asof_match.h"
#include "query/joins/joined_columns.h"
#include "table/value.h"

namespace tickstack::query {

enum class AsofTime {
  kLeft,   // aj: the result has the left table's time.
  kRight,  // aj0: the time of the right row that was found.
};

// aj[columns; left; right]. The last of `columns` is the time: the match of a left row is the right
// row that prevails at its time. The other columns are keys, which must be equal. The result has
// the left table's rows and columns, then the right table's other columns, deferred. If both tables
// have a column that is not one of `columns`, the right value replaces the left one in rows with a
// match (with kKeepsLeft, as in ajf, only if it is not null). `max_age` is nullptr, or the age
// above which a right row does not match (MaxAge::Of).
//
// Right times need not ascend: among the right rows of one key, the prevailing one is the last of
// those with the greatest time at or before the left time.
//
// Cost:    a side is indexed if its key is the indexed column of its table (indexed_side.h). No row
//          of an indexed side is hashed, and exact times of a captured table are read only if the
//          coarse times in the index do not decide (symbol_index.h). If both sides are indexed and
//          captured, 4 bytes per right row and 8 per left row are read, and 4 per left row written.
//          Otherwise one pass over the key and time columns, and a hash per row. The columns of the
//          result are gathered later, when they are needed.
// Threads: all threads of the budget join different symbols, or parts of large symbols.
// Errors:  `type`, `length`, `domain`, and the name of a column that is missing.
absl::StatusOr<TableView> AsofJoin(const Value& columns, const TableView& left,
                                   const TableView& right, AsofTime time, RightNull right_null,
                                   const Value* max_age, Budget& budget);

// table asof wanted. Returns, for each row of `wanted`, the row of `table` that matches it in an
// as-of join on all columns of `wanted`. The result does not have these columns.
absl::StatusOr<TableView> AsofRows(const TableView& table, const TableView& wanted, Budget& budget);

}  // namespace tickstack::query
