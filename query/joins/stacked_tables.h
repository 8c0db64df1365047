#pragma once

// Combines the rows of tables: `,` and `uj` (code.kx.com/q/ref: join, uj). Without keys the result
// has all rows of both tables. Keyed tables are merged by their keys: for equal keys, the result
// has the second table's items. Columns are matched by name.
//
// Cost:   a hash per row and key column of keyed tables. The columns of the result are gathered
//         later, when they are needed.
// Errors: `mismatch` for columns or keys that only one table has, `type` for columns of different
//         types in keyed tables, `limit` for too many rows.

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"

namespace tickstack::query {

// What happens with a column that only one of the tables has.
enum class OneSided {
  kMismatch,  // It is the error `mismatch`.
  kNull,      // It is null in the rows of the other table.
};

// Returns the rows of `above`, then those of `below`. Neither table has keys. Columns of different
// types become a list, as in x,y for such vectors.
absl::StatusOr<TableView> StackTables(const TableView& above, const TableView& below,
                                      OneSided one_sided, Budget& budget);

// Returns the rows of all tables, which have the same columns and no keys. There must be at least
// one. Copies every column once.
absl::StatusOr<TableView> StackAll(std::span<const TableView> tables, Budget& budget);

// Returns the rows of `first`, with the items of `second` where it has the same keys, then the rows
// of `second` whose keys are new. Both tables must be keyed by the same columns.
absl::StatusOr<TableView> MergeTables(const TableView& first, const TableView& second,
                                      OneSided one_sided, Budget& budget);

absl::Status MismatchError(std::string_view column);

}  // namespace tickstack::query
