#pragma once

// The rows of some symbols as a table's index has them, symbol by symbol: what a condition on the
// indexed column leaves, as long as nobody needs all rows in one ascending order. A condition on
// time then cuts each symbol's rows by binary search, and groups by symbol are there already.

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/budget.h"
#include "query/column.h"
#include "query/rows.h"

namespace tickstack::query {

class SymbolRows {
 public:
  // `key` is the indexed column of a captured table; symbols without rows are left out.
  SymbolRows(const Column& key, std::span<const SymbolId> ids);

  size_t count() const { return rows_.size(); }  // Symbols.
  std::string_view NameOf(size_t i) const { return key_.symbols().NameOf(ids_[i]); }
  const std::shared_ptr<const RowSet>& RowsOf(size_t i) const { return rows_[i]; }
  // The column, in the table that the rows are of.
  const Column& key() const { return key_; }

  // The rows whose time is in [first_ns, last_ns]; nullopt if some symbol's times do not ascend.
  std::optional<SymbolRows> WithTimes(int64_t first_ns, int64_t last_ns) const;

  // All rows, ascending. Cost: nothing for one symbol; a sort if the rows are few, else a bit for
  // each row of the table.
  absl::StatusOr<RowSet> Merge(Budget& budget) const;

 private:
  explicit SymbolRows(Column key) : key_(std::move(key)) {}

  Column key_;
  std::vector<SymbolId> ids_;
  std::vector<std::shared_ptr<const RowSet>> rows_;  // Of each of them.
};

}  // namespace tickstack::query
