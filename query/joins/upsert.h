#pragma once

// Rows that come to a table of the request: `upsert`, `insert`, and `,` of a table and a row.
// (code.kx.com/q/ref: upsert, insert.) What the process captured cannot be reached by them.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// Rows as a table with the columns of `table`, in their order, keyed as it is. Rows are
//
//   a table                 whose columns go by their names
//   a dictionary            one row, by the names
//   a list                  an item a column: one row; or if the items are lists, their items'
//   rows;
//                           or a list of rows
//
// Errors: `mismatch` for other names, `length` for another number of columns, `type`.
absl::StatusOr<TableView> RowsForTable(const TableView& table, Value rows, Budget& budget);

// The table with these rows: behind its own, or if it is keyed in place of those with their keys.
absl::StatusOr<TableView> Upsert(const TableView& table, Value rows, Budget& budget);

// The same, for rows whose keys are new: `insert` if one is there, or comes twice.
absl::StatusOr<TableView> InsertRows(const TableView& table, Value rows, Budget& budget);

// One row as a table. Errors: `type` if the dictionary's keys are not names, each once.
absl::StatusOr<TableView> TableOfRow(const Value& dict);

}  // namespace tickstack::query
