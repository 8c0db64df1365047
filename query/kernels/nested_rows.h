#pragma once

// Converts between plain tables and nested tables (code.kx.com/q/ref: xgroup, ungroup, group). A
// row of a nested table stands for a group of plain rows: its columns hold lists, with one item for
// each row of the group.

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// Returns a plain table without keys. Each row of `view` becomes one row per item of the lists in
// its nested columns: no row if the lists are empty, one if they are atoms. The items of other
// columns are repeated; these columns are gathered later, when they are needed.
// Errors: `length` for lists of different counts in a row, `limit`.
absl::StatusOr<TableView> Ungroup(const TableView& view, Budget& budget);

// Returns a table whose keys are the columns with the numbers `keys`. It has a row for each
// distinct combination of keys, in order of first appearance. Each other column holds, for each
// such row, the list of its items in the rows of `view` with these keys. Errors: `length` if there
// are no keys or all columns are keys, `nyi` for nested keys.
absl::StatusOr<TableView> NestBy(const TableView& view, std::span<const size_t> keys,
                                 Budget& budget);

// Returns a dictionary from the distinct rows of a table to lists of their row numbers. Errors:
// `nyi` for a table with keys.
absl::StatusOr<Value> GroupTable(const TableView& view, Budget& budget);

// Returns a dictionary from each distinct value of `dict` to a list of its keys. Errors: `nyi` if
// the values are a list, not a vector.
absl::StatusOr<Value> GroupDict(const Value& dict, Budget& budget);

}  // namespace tickstack::query
