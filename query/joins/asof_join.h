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

// aj[columns; left; right]. The last column is matched as of, the others for equality. The result
// has the left table's rows and columns, then the right table's other columns, deferred. If both
// have a column that is not joined on, the right value replaces the left one in rows with a match
// (with kKeepsLeft, as in ajf, only if it is not null). With a `max_age`, as from MaxAge::Of, a
// right row that is older does not match.
//
// Right times need not ascend: among the right rows of one key, the prevailing one is the last of
// those with the greatest time at or before the left time.
//
// Cost:    if the key is the indexed column of a captured table, whole or restricted to one symbol,
//          that side comes from its index: no row is hashed, and times are read only where the
//          index leaves the order open (symbol_index.h). If both sides do, 4 bytes per right row
//          and 8 per left row are read, and 4 per left row written. Otherwise one pass over the key
//          and time columns, and a hash per row. The columns of the result have a cost when they
//          are gathered.
// Threads: symbols, and parts of large ones, are joined by all threads of the budget.
// Errors:  `type`, `length`, `domain`, and the name of a column that is missing.
absl::StatusOr<TableView> AsofJoin(const Value& columns, const TableView& left,
                                   const TableView& right, AsofTime time, RightNull right_null,
                                   const Value* max_age, Budget& budget);

// table asof wanted: for each row of `wanted`, the row of `table` that an as-of join finds, without
// the joined columns. All columns of `wanted` are joined on, the last one as of.
absl::StatusOr<TableView> AsofRows(const TableView& table, const TableView& wanted, Budget& budget);

}  // namespace tickstack::query
