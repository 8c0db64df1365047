#pragma once

// Evaluates conditions of a query's `where` that have the form `column op constant`. Numbers and
// times are compared with the bounds of an interval, and symbols are looked up in a set. The result
// is the set of rows for which the condition is true.

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

// The function of a condition: an operator such as `<`, or `in`, `within` or `like`.
struct Condition {
  enum class Kind { kCompare, kIn, kWithin, kLike };
  Kind kind = Kind::kCompare;
  Comparison op = Comparison::kEqual;  // The operator of kCompare; other kinds ignore it.
};

// Returns the rows of `rows` for which the condition is true. Returns nullopt if no kernel can
// evaluate it, such as `in` with a list or `like` on strings: then the caller evaluates the
// condition as an expression.
//
// The method depends on the condition and on `rows`:
//
//   condition           rows                        method
//   = or in, on the     all                         takes rows from the index; reads no column
//   indexed column
//   on times            of one symbol, from the     binary search
//                       index
//   on times            a range                     skips a chunk if its earliest and latest time
//                                                   show that no row passes; binary search in a
//                                                   chunk whose times ascend
//   any other           any                         one pass: about 1 ns per row of a range, 3 ns
//                                                   per scattered row
//
// If the constant cannot be converted to the column's type without loss, the operator of q is
// applied to 65,536 rows at a time, so that no more of the column is copied at once.
absl::StatusOr<std::optional<RowSet>> Filter(const TableView& view, size_t column,
                                             const RowSet& rows, Condition condition,
                                             const Value& constant, Budget& budget);

// Like Filter, for a condition on the indexed column; reads only the index. Returns nullopt if
// `column` is not the indexed one, if `rows` are not all rows of its table, or if the condition
// cannot be evaluated with the index.
absl::StatusOr<std::optional<SymbolRows>> FilterToSymbols(const TableView& view, size_t column,
                                                          const std::shared_ptr<const RowSet>& rows,
                                                          Condition condition,
                                                          const Value& constant,
                                                          const Budget& budget);

// Like Filter, for a condition on times: finds the rows of each symbol by binary search. Returns
// nullopt if the condition does not select one interval of times, or if the times of a symbol do
// not ascend.
absl::StatusOr<std::optional<SymbolRows>> FilterTimes(const SymbolRows& rows, const TableView& view,
                                                      size_t column, Condition condition,
                                                      const Value& constant, Budget& budget);

// Like FilterTimes, for a condition on the time of day of timestamps. `part` is the type of the
// time of day, such as kMinute for `time.minute within 09:30 10:00`.
absl::StatusOr<std::optional<SymbolRows>> FilterTimesOfDay(const SymbolRows& rows,
                                                           const TableView& view, size_t column,
                                                           Type part, Condition condition,
                                                           const Value& constant, Budget& budget);

// A condition on numbers that is evaluated for one range of rows after the other, for callers that
// do not need all passing rows at the same time. Cheap to copy; any thread.
class RangeFilter {
 public:
  // Returns a filter for `rows` of the column. nullopt if `rows` are not a range, if the condition
  // does not select an interval of numbers, if the elements are not in memory or are reals, or if
  // Filter can use the earliest and latest time of chunks instead.
  static std::optional<RangeFilter> Make(const AnyColumn& column, const RowSet& rows,
                                         const Condition& condition, const Value& constant,
                                         Budget& budget);
  // Returns how many rows of [row, row + n) pass, and writes their numbers to `passed`, which must
  // have room for n + kSelectSlack numbers. If all n rows pass, `passed` has no valid numbers.
  // kDataLoss for a damaged file.
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

// Returns the rows whose flag is set. `flags` is a boolean vector with one item per row, or a
// boolean atom for all rows. Errors: `type`, `length`.
absl::StatusOr<RowSet> Keep(const RowSet& rows, const Value& flags);

namespace internal {

// Filter for a column of symbols; in filter_symbols.cc.
absl::StatusOr<std::optional<RowSet>> FilterSymbols(const Slice& slice, const Condition& condition,
                                                    const Value& constant, Budget& budget);

}  // namespace internal

}  // namespace tickstack::query
