#pragma once

// Adds rows to a table of the request: `upsert`, `insert`, and `,` of a table and a row
// (code.kx.com/q/ref: upsert, insert). Captured tables cannot be changed by them.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// Returns rows as a table with the columns of `table`, in their order, with the same keys. Rows are
//
//   a table        columns are matched by name
//   a dictionary   one row, matched by name
//   a list         one row, with an item per column; if the items are lists, several rows; or a
//                  list of rows
//
// Errors: `mismatch` for other names, `length` for another number of columns, `type`.
absl::StatusOr<TableView> RowsForTable(const TableView& table, Value rows, Budget& budget);

// Returns the table with these rows appended or, if it is keyed, replacing rows with the same keys.
absl::StatusOr<TableView> Upsert(const TableView& table, Value rows, Budget& budget);

// The same for rows with new keys: `insert` if a key exists already, or occurs twice.
absl::StatusOr<TableView> InsertRows(const TableView& table, Value rows, Budget& budget);

// Returns one row as a table. Errors: `type` if the dictionary's keys are not names, each once.
absl::StatusOr<TableView> TableOfRow(const Value& dict);

}  // namespace tickstack::query
