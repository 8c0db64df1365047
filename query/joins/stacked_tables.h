#pragma once

// Stacks tables: `,` and `uj` (code.kx.com/q/ref: join, uj). Without keys the result has all rows
// of both tables. Keyed tables are merged by their keys, and for equal keys the second table's
// items win. Columns are matched by name.
//
// Cost:   a hash per row and key column of keyed tables; of the result's columns, only those that
// are named. Errors: `mismatch` for columns or keys that only one table has, `type` for columns of
// different types in
//         keyed tables, `limit` for too many rows.

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"

namespace tickstack::query {

// How a column that only one of the tables has is treated.
enum class OneSided {
  kMismatch,  // An error.
  kNull,      // Null in the other one's rows.
};

// Returns the rows of `above`, then those of `below`; neither has keys. Columns of different types
// become a list, as when such vectors are joined.
absl::StatusOr<TableView> StackTables(const TableView& above, const TableView& below,
                                      OneSided one_sided, Budget& budget);

// Returns the rows of all tables, which have the same columns and no keys. There must be at least
// one. Copies every column once.
absl::StatusOr<TableView> StackAll(std::span<const TableView> tables, Budget& budget);

// Returns the rows of `first`, with the items of `second` for the same keys, then the rows of
// `second` whose keys are new. Both are keyed, by the same columns.
absl::StatusOr<TableView> MergeTables(const TableView& first, const TableView& second,
                                      OneSided one_sided, Budget& budget);

absl::Status MismatchError(std::string_view column);

}  // namespace tickstack::query
