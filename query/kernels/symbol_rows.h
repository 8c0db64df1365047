#pragma once

// The rows of some symbols from a table's index, symbol by symbol: the result of a condition on the
// indexed column, as long as all rows are not needed in one ascending order. A condition on time
// then restricts each symbol's rows by binary search, and groups by symbol are available. For a
// stored table, the index is that of attribute parted, and a symbol's rows are ranges, one per
// part.

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
  // `key` is the indexed column of a captured or stored table; symbols without rows are left out.
  // kDataLoss if the index of a stored part is damaged; see StoredColumn::RangesOf.
  static absl::StatusOr<SymbolRows> Of(const AnyColumn& key, std::span<const SymbolId> ids);
  // Returns the rows of all symbols of a stored table. kDataLoss if one of `rows`, the rows that
  // are needed, has a position that its domain lacks.
  static absl::StatusOr<SymbolRows> All(const AnyColumn& key, const RowSet& rows, Budget& budget);

  size_t count() const { return rows_.size(); }  // Number of symbols.
  SymbolId IdOf(size_t i) const { return ids_[i]; }
  std::string_view NameOf(size_t i) const { return key_.symbols().NameOf(ids_[i]); }
  const std::shared_ptr<const RowSet>& RowsOf(size_t i) const { return rows_[i]; }
  // The column in the table that has the rows.
  const AnyColumn& key() const { return key_; }

  // Returns the rows whose time is in [first_ns, last_ns]; nullopt if some symbol's times do not
  // ascend.
  std::optional<SymbolRows> WithTimes(int64_t first_ns, int64_t last_ns) const;
  // The same for a stored table whose times are a direct column of int32_t or int64_t; all threads
  // help. Cost: the first call reads the symbols' times in all parts, to see whether they ascend,
  // which is remembered while the file is open; later calls make two searches per symbol and part.
  template <typename T>
  absl::StatusOr<std::optional<SymbolRows>> WithTimesOf(const AnyColumn& times, T first, T last,
                                                        Budget& budget) const;
  // The same by the time of day of timestamps: rows whose time since midnight is in [first_ns,
  // last_ns]. nullopt also if some symbol's rows of a part are not all of one day.
  absl::StatusOr<std::optional<SymbolRows>> WithTimesOfDay(const AnyColumn& times, int64_t first_ns,
                                                           int64_t last_ns, Budget& budget) const;

  // Returns all rows, ascending. Cost: nothing for one symbol; for a captured table a sort if the
  // rows are few, else a bit for each row of the table; for a stored one a sort of the ranges.
  absl::StatusOr<RowSet> Merge(Budget& budget) const;

 private:
  explicit SymbolRows(AnyColumn key) : key_(std::move(key)) {}
  // `cut` returns the remaining rows of one symbol; it is called on several threads.
  absl::StatusOr<std::optional<SymbolRows>> CutEach(
      Budget& budget,
      absl::FunctionRef<absl::StatusOr<std::optional<RowSet>>(const RowSet&)> cut) const;
  void Add(SymbolId id, RowSet rows);

  AnyColumn key_;
  std::vector<SymbolId> ids_;
  std::vector<std::shared_ptr<const RowSet>> rows_;  // Rows of each symbol of `ids_`.
};

}  // namespace tickstack::query
