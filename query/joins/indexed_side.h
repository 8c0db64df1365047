#pragma once

// A side of an as-of join whose key is the indexed column of its table. The index gives the rows of
// each symbol, so the key column is not read. The index of a captured table has coarse times, too.
// For a stored table, the index is that of the attribute `p` (parted), and times are read from
// their column.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/rows.h"
#include "query/columns/table_view.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::query {

// Cheap to copy; reentrant.
class IndexedSide {
 public:
  // Returns nullopt if the index cannot be used for a join on these columns of the view. It can be
  // used if both are columns of one captured or stored table, the key is its indexed column, the
  // time of a captured table is its column `time`, and the view has one of these sets of rows:
  //
  //   captured   all rows; or rows of one symbol that came from the index, with ascending times
  //   stored     all rows, or ranges of rows
  //
  // kDataLoss if the index of a stored part is damaged.
  static absl::StatusOr<std::optional<IndexedSide>> Make(const TableView& view, size_t key_column,
                                                         size_t time_column, Budget& budget);

  const AnyColumn& key() const { return key_; }
  const AnyColumn& time() const { return time_; }
  const SymbolTable& symbols() const { return key_.symbols(); }
  // True if the view has all rows of the table, so that a row's number is its position in the view.
  bool whole() const { return rows_->IsAllOf(key_.rows()); }
  // The symbol of all rows, if they came from the index of a captured table; nullopt otherwise.
  const std::optional<SymbolId>& only() const { return only_; }
  // Return the rows of a symbol; no rows if it has none.
  RowSet RowsOf(SymbolId symbol) const;
  RowSet RowsOf(std::string_view name) const;

 private:
  IndexedSide(AnyColumn key, AnyColumn time, std::shared_ptr<const RowSet> rows)
      : key_(std::move(key)), time_(std::move(time)), rows_(std::move(rows)) {}

  absl::Status FindStoredRows(Budget& budget);

  AnyColumn key_, time_;
  std::shared_ptr<const RowSet> rows_;
  std::optional<SymbolId> only_;
  // For a stored table: the rows of each symbol, by its number plus one; nullptr for no rows.
  std::shared_ptr<const std::vector<std::shared_ptr<const RowSet>>> stored_rows_;
};

}  // namespace tickstack::query
