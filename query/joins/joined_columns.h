#pragma once

// Builds the columns of a join's result: those of the left table, and those of the matching right
// rows. They are deferred (view_column.h), so a join costs its matching and the columns that are
// named.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/columns/view_column.h"

namespace tickstack::query {

// The value of a column of both tables in a row whose right item is null.
enum class RightNull {
  kReplaces,  // Null: the right row counts as a whole.
  kKeepsLeft,
};

// The rows of a result. `left`: row numbers of the left table; nullptr: its rows in order. `right`:
// for each of them a row number of the right table, or kNoItem.
struct JoinedRows {
  SharedPositions left;
  SharedPositions right;
};

// Returns the left table's columns, with its keys, then the right ones except those whose numbers
// are in `without`. A right column with the name of a left one replaces it in rows with a match.
//
// Errors: `type` for a column that both have with different types, unless every row has a match.
absl::StatusOr<TableView> JoinColumns(const TableView& left, const TableView& right,
                                      std::span<const size_t> without, const JoinedRows& rows,
                                      RightNull right_null, Budget& budget);

// Returns the columns of both, row by row; for a name in both, the right one's. Neither has keys,
// and their counts are equal: `length` if not.
absl::StatusOr<TableView> SideBySide(const TableView& left, const TableView& right, Budget& budget);

// The numbers of the columns with these names in either table; types are equal in both. Errors: the
// name of a missing column, `type`.
struct ColumnPairs {
  std::vector<size_t> left, right;
};
absl::StatusOr<ColumnPairs> PairColumns(std::span<const std::string> names, const TableView& left,
                                        const TableView& right);

// Returns the names in a symbol or a vector of symbols. Errors: `type` for anything else, `length`
// for none.
absl::StatusOr<std::vector<std::string>> NamesIn(const Value& names);

}  // namespace tickstack::query
