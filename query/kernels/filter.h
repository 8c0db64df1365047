#pragma once

// Evaluates a query's conditions as kernels over column chunks: `column op constant` becomes an
// interval test, or a set test for symbols, that appends the numbers of the rows that pass.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/rows.h"
#include "query/columns/table_view.h"
#include "query/kernels/symbol_rows.h"
#include "query/kernels/type_rules.h"
#include "table/value.h"

namespace tickstack::query {

// The operation between a column and a constant.
struct Condition {
  enum class Kind { kCompare, kIn, kWithin, kLike };
  Kind kind = Kind::kCompare;
  AtomicOp op = AtomicOp::kEqual;  // For kCompare.
};

// Returns the rows of `rows` for which `column condition constant` is true. Columns with another
// unit than the constant are read block by block through the general operators, so that a condition
// never copies more than a block of a column.
//
//   sym = , sym in    on the indexed column of a whole table: row numbers of the index, no reads
//   time within, <... on rows of one symbol from the index: binary search
//   time within, <... on a range of rows: the bounds of each chunk; a search if the chunk ascends
//   anything else     one pass over the rows: about 1 ns each for a range, 3 for scattered ones
//
// nullopt: there is no kernel for it (`in` a list, a pattern on strings...); evaluate the
// condition.
absl::StatusOr<std::optional<RowSet>> Filter(const TableView& view, size_t column,
                                             const RowSet& rows, Condition condition,
                                             const Value& constant, Budget& budget);

// The same for a condition on names, if the index can answer it: `column` must be the indexed one,
// and `rows` all rows of its table. nullopt if it cannot.
absl::StatusOr<std::optional<SymbolRows>> FilterToSymbols(const TableView& view, size_t column,
                                                          const std::shared_ptr<const RowSet>& rows,
                                                          Condition condition,
                                                          const Value& constant,
                                                          const Budget& budget);

// The same for a condition on time that restricts each symbol's rows by binary search. nullopt if
// it does not, or if their times do not ascend.
absl::StatusOr<std::optional<SymbolRows>> FilterTimes(const SymbolRows& rows, const TableView& view,
                                                      size_t column, Condition condition,
                                                      const Value& constant, Budget& budget);

// The same for a condition on the time of day of a column of timestamps: `time.minute within ...`,
// where `part` is the type of such a part.
absl::StatusOr<std::optional<SymbolRows>> FilterTimesOfDay(const SymbolRows& rows,
                                                           const TableView& view, size_t column,
                                                           Type part, Condition condition,
                                                           const Value& constant, Budget& budget);

// A condition on numbers as a kernel over ranges of rows, for callers that do not need all passing
// rows at the same time. Cheap to copy; any thread.
class RangeFilter {
 public:
  // Makes a filter for `rows`, a range of the column. nullopt if the condition does not have this
  // form, if the elements are not in memory, or if the bounds of times exclude most rows without
  // reading them (Filter).
  static std::optional<RangeFilter> Make(const AnyColumn& column, const RowSet& rows,
                                         const Condition& condition, const Value& constant,
                                         Budget& budget);
  // Returns how many rows of [row, row + n) pass, and writes their numbers to `passed`, which has
  // room for n + kSelectSlack. Writes nothing if all n pass. kDataLoss for a damaged file.
  absl::StatusOr<size_t> Select(size_t row, size_t n, std::span<uint32_t> passed) const {
    TS_RETURN_IF_ERROR(column_.Verify(row, row + n));
    return select_(row, n, passed.data());
  }

 private:
  using Kernel = std::function<size_t(size_t row, size_t n, uint32_t* passed)>;
  RangeFilter(AnyColumn column, Kernel select)
      : column_(std::move(column)), select_(std::move(select)) {}

  AnyColumn column_;
  Kernel select_;
};

// Returns the rows whose flag is set. `flags` is a boolean vector with one item per row, or an atom
// for all of them: `type`, `length`.
absl::StatusOr<RowSet> Keep(const RowSet& rows, const Value& flags);

namespace internal {

// Filter for a column of symbols; in filter_symbols.cc.
absl::StatusOr<std::optional<RowSet>> FilterSymbols(const Slice& slice, const Condition& condition,
                                                    const Value& constant, Budget& budget);

}  // namespace internal

}  // namespace tickstack::query
