#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// For each item of x, whether it is one of y's: as `in` has it for vectors and atoms, by whole
// items where both are lists that are no vectors. Cost:   a hash an item; lists are sorted. Errors:
// those of In() and NumberItems().
absl::StatusOr<Value> AreItemsOf(const Value& x, const Value& y, Budget& budget);

// For each row of x whether it is a row of y. `mismatch` if their columns differ in number or name,
// `type` if they do in type.
absl::StatusOr<ScratchVector<uint8_t>> AreRowsOf(const TableView& x, const TableView& y,
                                                 Budget& budget);

// x,y for each item of x and each of y, those of x slowest.
// Cost:   count x times count y lists, charged before the first one. Errors: those of Join().
absl::StatusOr<Value> CrossItems(const Value& x, const Value& y, Budget& budget);

// The same of the rows of two tables, without copying a column. `mismatch` if they share a name.
absl::StatusOr<TableView> CrossRows(const TableView& x, const TableView& y, Budget& budget);

}  // namespace tickstack::query
