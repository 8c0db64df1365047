#pragma once

// A side of an as-of join that comes from its table's index: the rows of each symbol with their
// times, without reading a column. For a stored table, the index is that of attribute parted, and
// times are read in place.

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
  // Returns nullopt if the index cannot serve a join on these columns of the view. It can for its
  // own columns if the view has all rows of a captured table; rows of one symbol that came from the
  // index, with ascending times; or all rows, or ranges of rows, of a stored table. kDataLoss if
  // the index of a stored part is damaged.
  static absl::StatusOr<std::optional<IndexedSide>> Make(const TableView& view, size_t key_column,
                                                         size_t time_column, Budget& budget);

  const AnyColumn& key() const { return key_; }
  const AnyColumn& time() const { return time_; }
  const SymbolTable& symbols() const { return key_.symbols(); }
  // True if a row's number is its position in the view: all rows of the table.
  bool whole() const { return rows_->IsAllOf(key_.rows()); }
  // The only symbol of the rows; nullopt: all symbols, and rows are those of the table.
  const std::optional<SymbolId>& only() const { return only_; }
  RowSet RowsOf(SymbolId symbol) const;
  RowSet RowsOf(std::string_view name) const;

 private:
  IndexedSide(AnyColumn key, AnyColumn time, std::shared_ptr<const RowSet> rows)
      : key_(std::move(key)), time_(std::move(time)), rows_(std::move(rows)) {}

  absl::Status FindStoredRows(Budget& budget);

  AnyColumn key_, time_;
  std::shared_ptr<const RowSet> rows_;
  std::optional<SymbolId> only_;
  // For a stored table, the rows of each symbol by its number plus one; nullptr: none.
  std::shared_ptr<const std::vector<std::shared_ptr<const RowSet>>> stored_rows_;
};

}  // namespace tickstack::query
