#pragma once

// The columns of a join's result: those of the left table, and beside them those of the right rows
// that were found. They are deferred (view_column.h): a join costs its matching, and of the result
// what is named.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/columns/view_column.h"

namespace tickstack::query {

// What a column that both tables have becomes in a row whose right item is null.
enum class RightNull {
  kReplaces,  // Null: the right row counts as a whole.
  kKeepsLeft,
};

// The rows of a result. `left`: row numbers of the left table; nullptr: its rows in turn. `right`:
// for each of them a row number of the right table, or kNoItem.
struct JoinedRows {
  SharedPositions left;
  SharedPositions right;
};

// The left table's columns, keyed as it is, then the right ones but those whose numbers are in
// `without`. A right column that the left table has, too, replaces that one where a row was found.
//
// Errors: `type` for a column that both have with different types, unless every row was found.
absl::StatusOr<TableView> JoinColumns(const TableView& left, const TableView& right,
                                      std::span<const size_t> without, const JoinedRows& rows,
                                      RightNull right_null, Budget& budget);

// The columns of both, row by row; of a name that both have the right one's. Neither has keys, and
// their counts are equal: `length` if not.
absl::StatusOr<TableView> SideBySide(const TableView& left, const TableView& right, Budget& budget);

// The numbers of the columns that have these names, in either table, and of one type in both.
// Errors: the name of a column that is missing, `type`.
struct ColumnPairs {
  std::vector<size_t> left, right;
};
absl::StatusOr<ColumnPairs> PairColumns(std::span<const std::string> names, const TableView& left,
                                        const TableView& right);

// The names in a symbol or a vector of them. Errors: `type` for anything else, `length` for none.
absl::StatusOr<std::vector<std::string>> NamesIn(const Value& names);

}  // namespace tickstack::query
