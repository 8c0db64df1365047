#pragma once

// Tables whose columns hold lists: one row for each group of rows, and back
// (code.kx.com/q/ref: xgroup, ungroup, group).

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// A row for each item of the lists in a row's nested columns, which have one count; what is not
// nested is repeated, without being copied before somebody names it. A row of empty lists has no
// rows, one without lists is one row. The result has no keys.
// Errors: `length` for lists of different counts in a row, `limit`.
absl::StatusOr<TableView> Ungroup(const TableView& view, Budget& budget);

// Keyed by `keys`, which are numbers of columns: a row for each of their tuples in order of first
// appearance, with the items of its rows as lists in the other columns. Errors: `length` if all
// columns are keys, `nyi` for nested ones.
absl::StatusOr<TableView> NestBy(const TableView& view, std::span<const size_t> keys,
                                 Budget& budget);

// The rows of a table (without keys), each once, and their row numbers: a dictionary.
absl::StatusOr<Value> GroupTable(const TableView& view, Budget& budget);

// The values of a dictionary, each once, and the keys that have it. Errors: `nyi` for values that
// are no vector.
absl::StatusOr<Value> GroupDict(const Value& dict, Budget& budget);

}  // namespace tickstack::query
