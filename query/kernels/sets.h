#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// Returns for each item of x whether it is an item of y. Unlike In(), it does so too if x and y are
// lists that are no vectors. Cost: a hash per item; lists are sorted. Errors: those of In() and
// NumberItems().
absl::StatusOr<Value> AreItemsOf(const Value& x, const Value& y, Budget& budget);

// Returns for each row of x whether it is a row of y. `mismatch` if their columns differ in number
// or name, `type` if they differ in type.
absl::StatusOr<ScratchVector<uint8_t>> AreRowsOf(const TableView& x, const TableView& y,
                                                 Budget& budget);

// Returns the list of x,y for each item x and each item y. The item of y changes fastest.
// Cost: count x times count y lists, which are charged first. Errors: those of Join().
absl::StatusOr<Value> CrossItems(const Value& x, const Value& y, Budget& budget);

// Returns each row of x joined with each row of y, as a table; the row of y changes fastest. No
// column is copied. Errors: `mismatch` if both tables have a column of the same name.
absl::StatusOr<TableView> CrossRows(const TableView& x, const TableView& y, Budget& budget);

}  // namespace tickstack::query
