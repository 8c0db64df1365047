#pragma once

// Conditions of a query as kernels over column chunks: `column op constant` becomes an interval
// test, or a set test for symbols, that appends the numbers of the rows that pass.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "query/columns/rows.h"
#include "query/columns/table_view.h"
#include "query/kernels/symbol_rows.h"
#include "query/kernels/type_rules.h"
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
//   time within, <... on a range of rows: by the bounds of each chunk; a search where it ascends
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
                                                          const Value& constant,
                                                          const Budget& budget);

// The same for a condition on time that cuts each symbol's rows by binary search. nullopt: it does
// not, or their times do not ascend.
absl::StatusOr<std::optional<SymbolRows>> FilterTimes(const SymbolRows& rows, const TableView& view,
                                                      size_t column, Condition condition,
                                                      const Value& constant, Budget& budget);

// The same for a condition on the time of day of a column of timestamps: `time.minute within ...`,
// where `part` is the type that such a part has.
absl::StatusOr<std::optional<SymbolRows>> FilterTimesOfDay(const SymbolRows& rows,
                                                           const TableView& view, size_t column,
                                                           Type part, Condition condition,
                                                           const Value& constant, Budget& budget);

// A condition on numbers as a kernel over ranges of rows, for callers that do not need all passing
// rows at once. Cheap to copy; any thread.
class RangeFilter {
 public:
  // `rows` is a range of the column. nullopt if the condition does not have this form, if elements
  // are not in memory, or if the bounds of times exclude most rows without reading them (Filter).
  static std::optional<RangeFilter> Make(const Column& column, const RowSet& rows,
                                         const Condition& condition, const Value& constant,
                                         Budget& budget);
  // The numbers of the rows of [row, row + n) that pass: how many there are, written to `passed`,
  // which has room for n + kSelectSlack. Nothing is written if all n do.
  size_t Select(size_t row, size_t n, std::span<uint32_t> passed) const {
    return select_(row, n, passed.data());
  }

 private:
  using Kernel = std::function<size_t(size_t row, size_t n, uint32_t* passed)>;
  explicit RangeFilter(Kernel select) : select_(std::move(select)) {}

  Kernel select_;
};

// The rows whose flag is set. `flags` is a boolean vector with one item a row, or an atom for all
// of them: `type`, `length`.
absl::StatusOr<RowSet> Keep(const RowSet& rows, const Value& flags);

namespace internal {

// Filter for a column of symbols; in filter_symbols.cc.
absl::StatusOr<std::optional<RowSet>> FilterSymbols(const Slice& slice, const Condition& condition,
                                                    const Value& constant, Budget& budget);

}  // namespace internal

}  // namespace tickstack::query
