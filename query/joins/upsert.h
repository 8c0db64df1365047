#pragma once

// Adds rows to a table: `upsert`, `insert`, and `,` of a table and a row (code.kx.com/q/ref:
// upsert, insert). The result is a value of the request; captured tables do not change.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// Converts `rows` to a table with the columns of `table`, in its order, and the same key columns.
// `rows` is one of:
//
//   a table             columns are matched by name
//   a dictionary        one row; its items are matched by name
//   a list of items     one row; one item per column
//   a list of lists     several rows; either one list per column, or one list per row
//
// Errors: `mismatch` for other names, `length` for another number of columns, `type`.
absl::StatusOr<TableView> RowsForTable(const TableView& table, Value rows, Budget& budget);

// Returns the table with these rows appended or, if it is keyed, replacing rows with the same keys.
absl::StatusOr<TableView> Upsert(const TableView& table, Value rows, Budget& budget);

// Like Upsert, but all keys must be new. Errors: `insert` if a key exists already, or occurs twice.
absl::StatusOr<TableView> InsertRows(const TableView& table, Value rows, Budget& budget);

// Returns one row as a table. Errors: `type` if the dictionary's keys are not distinct names.
absl::StatusOr<TableView> TableOfRow(const Value& dict);

}  // namespace tickstack::query
