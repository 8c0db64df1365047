#pragma once

// Builds the columns of a join's result from the left table and the matching right rows. They are
// deferred (view_column.h): only the columns that a query names are gathered.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/columns/view_column.h"

namespace tickstack::query {

// The value of a column that both tables have, in a row whose match has a null there.
enum class RightNull {
  kReplaces,   // The null.
  kKeepsLeft,  // The left item.
};

// The rows of a result.
struct JoinedRows {
  SharedPositions left;   // Row numbers of the left table; nullptr: all rows of its view.
  SharedPositions right;  // For each of them, a row number of the right table, or kNoItem.
};

// Returns the left table's columns, with its keys, then the right table's columns except those
// whose numbers are in `without`. A right column with the name of a left one replaces it in rows
// with a match.
//
// Errors: `type` for a column that has different types in both tables, unless every row has a
//         match.
absl::StatusOr<TableView> JoinColumns(const TableView& left, const TableView& right,
                                      std::span<const size_t> without, const JoinedRows& rows,
                                      RightNull right_null, Budget& budget);

// Returns a table with the columns of both tables, which have no keys. For a name in both, it has
// the right column. `length` if the tables have different numbers of rows.
absl::StatusOr<TableView> SideBySide(const TableView& left, const TableView& right, Budget& budget);

struct ColumnPairs {
  std::vector<size_t> left, right;
};
// Returns the numbers of the columns with these names in both tables. Errors: the name of a missing
// column, `type` for a column that has different types in both.
absl::StatusOr<ColumnPairs> PairColumns(std::span<const std::string> names, const TableView& left,
                                        const TableView& right);

// Returns the names in a symbol or a vector of symbols. Errors: `type` for any other value,
// `length` for an empty vector.
absl::StatusOr<std::vector<std::string>> NamesIn(const Value& names);

}  // namespace tickstack::query
