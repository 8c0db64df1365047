#pragma once

// aj and its like: tables joined as of a time (asof_match.h has the rule and the kernels).

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

// aj[columns; left; right]. All columns but the last are matched for equality, the last one as of.
// The result has the left table's rows and columns, then the right table's other columns, deferred.
// Where both have a column that is not joined on, the right value replaces the left one if a row
// was found (and, with kKeepsLeft as in ajf, its item is not null). With a `max_age`, as MaxAge::Of
// takes it, a right row that is older counts as none.
//
// Right times need not ascend: of the right rows of one key, the prevailing one is the last of
// those with the greatest time at or before the left time.
//
// Cost:    where the key is the indexed column of a captured table, whole or restricted to one
//          symbol, that side comes out of its index: no row is hashed and no time read but those
//          that the index leaves open (symbol_index.h). If both sides do, 4 bytes a right row and 8
//          a left one are read, and 4 bytes a left row written. Otherwise one pass over the key and
//          time columns and a hash per row. The columns of the result cost when they are gathered.
// Threads: symbols, and parts of large ones, are joined by all threads of the budget.
// Errors:  `type`, `length`, `domain`, and the name of a column that is missing.
absl::StatusOr<TableView> AsofJoin(const Value& columns, const TableView& left,
                                   const TableView& right, AsofTime time, RightNull right_null,
                                   const Value* max_age, Budget& budget);

// table asof wanted: for each row of `wanted`, all of whose columns are joined on, the last one as
// of, the row of `table` that an as-of join finds, without those columns.
absl::StatusOr<TableView> AsofRows(const TableView& table, const TableView& wanted, Budget& budget);

}  // namespace tickstack::query
