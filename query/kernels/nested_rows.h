#pragma once

// Converts between tables with lists in columns, which have one row per group of rows, and plain
// tables (code.kx.com/q/ref: xgroup, ungroup, group).

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// Returns a row for each item of the lists in a row's nested columns, which have equal counts.
// Other columns are repeated, and not copied until they are named. A row with empty lists has no
// rows, and one without lists is one row. The result has no keys.
// Errors: `length` for lists of different counts in a row, `limit`.
absl::StatusOr<TableView> Ungroup(const TableView& view, Budget& budget);

// Returns a table keyed by `keys`, which are column numbers: a row for each of their tuples in
// order of first appearance, with the items of its rows as lists in the other columns. Errors:
// `length` if all columns are keys, `nyi` for nested keys.
absl::StatusOr<TableView> NestBy(const TableView& view, std::span<const size_t> keys,
                                 Budget& budget);

// Returns a dictionary from the distinct rows of a table without keys to their row numbers.
absl::StatusOr<Value> GroupTable(const TableView& view, Budget& budget);

// Returns a dictionary from the distinct values of a dictionary to the keys that have them. Errors:
// `nyi` for values that are no vector.
absl::StatusOr<Value> GroupDict(const Value& dict, Budget& budget);

}  // namespace tickstack::query
