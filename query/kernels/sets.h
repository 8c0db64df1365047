#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// Returns for each item of x whether it is one of y's: as `in` for vectors and atoms, and by whole
// items if both are lists that are no vectors. Cost: a hash per item; lists are sorted. Errors:
// those of In() and NumberItems().
absl::StatusOr<Value> AreItemsOf(const Value& x, const Value& y, Budget& budget);

// Returns for each row of x whether it is a row of y. `mismatch` if their columns differ in number
// or name, `type` if they differ in type.
absl::StatusOr<ScratchVector<uint8_t>> AreRowsOf(const TableView& x, const TableView& y,
                                                 Budget& budget);

// Returns x,y for each item of x and each item of y; the item of y changes fastest.
// Cost:   count x times count y lists, charged before the first one. Errors: those of Join().
absl::StatusOr<Value> CrossItems(const Value& x, const Value& y, Budget& budget);

// The same for the rows of two tables, without copying a column. `mismatch` if they share a column
// name.
absl::StatusOr<TableView> CrossRows(const TableView& x, const TableView& y, Budget& budget);

}  // namespace tickstack::query
