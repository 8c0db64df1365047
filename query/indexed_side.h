#pragma once

// A side of an as-of join that comes out of its table's index: the rows of each symbol with their
// times, without reading a column.

#include <memory>
#include <optional>
#include <string_view>

#include "query/budget.h"
#include "query/rows.h"
#include "query/table_view.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::query {

// Cheap to copy; reentrant.
class IndexedSide {
 public:
  // nullopt: the index does not serve a join on these columns of the view. It does for its own
  // columns, if the view has all rows of a captured table, or rows that came out of it for one
  // symbol and whose times ascend.
  static std::optional<IndexedSide> Make(const TableView& view, size_t key_column,
                                         size_t time_column);

  const Column& key() const { return key_; }
  const Column& time() const { return time_; }
  const SymbolTable& symbols() const { return key_.symbols(); }
  // The one symbol that the rows are of; nullopt: all symbols, and rows are those of the table.
  const std::optional<SymbolId>& only() const { return only_; }
  RowSet RowsOf(SymbolId symbol) const;
  RowSet RowsOf(std::string_view name) const;

 private:
  IndexedSide(Column key, Column time, std::shared_ptr<const RowSet> rows)
      : key_(std::move(key)), time_(std::move(time)), rows_(std::move(rows)) {}

  Column key_, time_;
  std::shared_ptr<const RowSet> rows_;
  std::optional<SymbolId> only_;
};

}  // namespace tickstack::query
