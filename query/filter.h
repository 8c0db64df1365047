#pragma once

// Conditions of a query as kernels over column chunks: `column op constant` becomes an interval
// test, or a set test for symbols, that appends the numbers of the rows that pass.

#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/budget.h"
#include "query/column.h"
#include "query/rows.h"
#include "query/symbol_rows.h"
#include "query/table_view.h"
#include "query/type_rules.h"
#include "table/value.h"

namespace tickstack::query {

// What may stand between a column and a constant.
struct Condition {
  enum class Kind { kCompare, kIn, kWithin, kLike };
  Kind kind = Kind::kCompare;
  AtomicOp op = AtomicOp::kEqual;  // Of kCompare.
};

// The rows of `rows` where `column condition constant` holds. Columns that the constant does not
// meet in their own unit go block by block through the general operators, so that a condition never
// copies more than a block of a column.
//
//   sym = , sym in    on the indexed column of a whole table: the index's row numbers, nothing read
//   time within, <... on rows of one symbol out of the index: binary search
//   time within, <... on a range of rows: by what is known of each chunk, a search where it ascends
//   anything else     one pass over the rows: about 1 ns each for a range, 3 for scattered ones
//
// nullopt: this condition has no kernel (`in` a list, a pattern on strings...); evaluate it.
absl::StatusOr<std::optional<RowSet>> Filter(const TableView& view, size_t column,
                                             const RowSet& rows, Condition condition,
                                             const Value& constant, Budget& budget);

// The same for a condition on names, as far as the index answers it: `column` is the indexed one,
// and `rows` are all of its table's. nullopt: it does not.
absl::StatusOr<std::optional<SymbolRows>> FilterToSymbols(const TableView& view, size_t column,
                                                          const std::shared_ptr<const RowSet>& rows,
                                                          Condition condition,
                                                          const Value& constant);

// The same for a condition on time that cuts each symbol's rows by binary search. nullopt: it does
// not, or their times do not ascend.
absl::StatusOr<std::optional<SymbolRows>> FilterTimes(const SymbolRows& rows, const TableView& view,
                                                      size_t column, Condition condition,
                                                      const Value& constant, Budget& budget);

// The rows whose flag is set. `flags` is a boolean vector with one item a row, or an atom for all
// of them: `type`, `length`.
absl::StatusOr<RowSet> Keep(const RowSet& rows, const Value& flags);

namespace internal {

// Filter for a column of symbols; in filter_symbols.cc.
absl::StatusOr<std::optional<RowSet>> FilterSymbols(const Slice& slice, const Condition& condition,
                                                    const Value& constant, Budget& budget);

}  // namespace internal

}  // namespace tickstack::query
