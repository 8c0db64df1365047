#pragma once

// Tables below each other: `,` and `uj` (code.kx.com/q/ref: join, uj). Tables without keys have all
// rows of both; keyed ones are merged by their keys, and of two rows with equal keys the second
// one's items count. Columns go by their names.
//
// Cost:   a hash a row and key column of keyed tables; of the result's columns what is named.
// Errors: `mismatch` for columns or keys that only one of them has, `type` for columns of different
//         types in keyed tables, `limit` for more rows than there are row numbers.

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"

namespace tickstack::query {

// What a column is that only one of the tables has.
enum class OneSided {
  kMismatch,  // An error.
  kNull,      // Null in the other one's rows.
};

// The rows of `above`, then those of `below`; neither has keys. A column of different types is a
// list, as it is of vectors that are joined.
absl::StatusOr<TableView> StackTables(const TableView& above, const TableView& below,
                                      OneSided one_sided, Budget& budget);

// The rows of all of them, which have the same columns and no keys; there is one at least. Copies
// every column once.
absl::StatusOr<TableView> StackAll(std::span<const TableView> tables, Budget& budget);

// The rows of `first` with the items that `second` has for their keys, then those of `second` whose
// keys are new. Both are keyed, by the same columns.
absl::StatusOr<TableView> MergeTables(const TableView& first, const TableView& second,
                                      OneSided one_sided, Budget& budget);

absl::Status MismatchError(std::string_view column);

}  // namespace tickstack::query
