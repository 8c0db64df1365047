#pragma once

// The rows of some symbols from a table's index, kept separately for each symbol. It is the result
// of a condition on the indexed column, and has two advantages over one ascending set of all rows:
// a condition on times can be evaluated by binary search in the rows of each symbol, and the rows
// are grouped by symbol already. For a stored table, the index is that of the attribute `p`
// (parted), and the rows of a symbol are one range per part.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/rows.h"

namespace tickstack::query {

class SymbolRows {
 public:
  // Returns the rows of the symbols `ids`; symbols without rows are left out. `key` is the indexed
  // column of a captured or stored table. kDataLoss if the index of a stored part is damaged; see
  // StoredColumn::RangesOf.
  static absl::StatusOr<SymbolRows> Of(const AnyColumn& key, std::span<const SymbolId> ids);
  // Returns the rows of all symbols of a stored table. `rows` are the rows that the caller needs:
  // kDataLoss if one of them has a position that its domain lacks.
  static absl::StatusOr<SymbolRows> All(const AnyColumn& key, const RowSet& rows, Budget& budget);

  size_t count() const { return rows_.size(); }  // Number of symbols.
  SymbolId IdOf(size_t i) const { return ids_[i]; }
  std::string_view NameOf(size_t i) const { return key_.symbols().NameOf(ids_[i]); }
  const std::shared_ptr<const RowSet>& RowsOf(size_t i) const { return rows_[i]; }
  // The indexed column.
  const AnyColumn& key() const { return key_; }

  // Returns the rows whose time is in [first_ns, last_ns]; nullopt if some symbol's times do not
  // ascend.
  std::optional<SymbolRows> WithTimes(int64_t first_ns, int64_t last_ns) const;
  // Like WithTimes, for the rows of a stored table whose time is in [first, last]. `times` must be
  // a direct column of int32_t or int64_t. Cost: the first call reads the symbols' times in all
  // parts on all threads, to find out whether they ascend, which is remembered while the file is
  // open. Later calls make two binary searches per symbol and part.
  template <typename T>
  absl::StatusOr<std::optional<SymbolRows>> WithTimesOf(const AnyColumn& times, T first, T last,
                                                        Budget& budget) const;
  // Like WithTimesOf, for the rows whose time of day, the time since midnight, is in [first_ns,
  // last_ns]. `times` has timestamps. nullopt also if the rows of a symbol in one part are of
  // several days.
  absl::StatusOr<std::optional<SymbolRows>> WithTimesOfDay(const AnyColumn& times, int64_t first_ns,
                                                           int64_t last_ns, Budget& budget) const;

  // Returns the rows of all symbols in one ascending set. Cost: nothing for one symbol; for a
  // captured table, a sort if there are few rows, otherwise a pass over one bit per row of the
  // table; for a stored table, a sort of the ranges.
  absl::StatusOr<RowSet> Merge(Budget& budget) const;

 private:
  explicit SymbolRows(AnyColumn key) : key_(std::move(key)) {}
  // Calls `cut` with the rows of each symbol, on several threads; `cut` returns the rows to keep.
  absl::StatusOr<std::optional<SymbolRows>> CutEach(
      Budget& budget,
      absl::FunctionRef<absl::StatusOr<std::optional<RowSet>>(const RowSet&)> cut) const;
  void Add(SymbolId id, RowSet rows);

  AnyColumn key_;
  std::vector<SymbolId> ids_;
  std::vector<std::shared_ptr<const RowSet>> rows_;  // Rows of each symbol of `ids_`.
};

}  // namespace tickstack::query
