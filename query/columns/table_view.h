#pragma once

// A table as a query sees it: named columns, all at the same rows. `select a,b from t where ...`
// remains such a view until its elements are needed.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/string_map.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/rows.h"
#include "query/columns/view_column.h"
#include "table/table.h"
#include "table/value.h"

namespace tickstack::query {

struct TableView {
  std::vector<std::string> names;
  // One per name, each with at least the rows of `rows`. A deferred column is gathered when its
  // elements are needed (view_column.h).
  std::vector<ViewColumn> columns;
  std::shared_ptr<const RowSet> rows = std::make_shared<const RowSet>();
  size_t key_columns = 0;  // For a keyed table: the number of leading columns that are keys.
  // The parts of a stored table, in each of which `i` restarts at 0. Not set for tables that were
  // selected from it.
  std::shared_ptr<const StoredParts> stored = nullptr;

  size_t count() const { return rows->count(); }
  int Find(std::string_view name) const;  // -1: there is no such column.
  // The column at the view's rows, gathered if it was deferred.
  absl::StatusOr<Slice> ColumnAt(size_t column, Budget& budget) const;
  absl::StatusOr<std::vector<Slice>> ColumnsAt(std::span<const size_t> wanted,
                                               Budget& budget) const;
};

TableView ViewOf(Snapshot snapshot);
TableView ViewOf(std::shared_ptr<const StoredParts> parts);

// Checks a table from the wire: `type` or `length` unless its columns are vectors of equal counts,
// with names.
absl::Status CheckTable(const Value& value);

// Returns a view of a table or keyed table from anywhere: `type` or `length` if its columns are not
// vectors of equal counts.
absl::StatusOr<TableView> ViewOf(Value value);

// Returns a view of vectors as a table (or keyed table). The caller has checked that counts are
// equal.
TableView ViewOf(std::vector<std::string> names, std::vector<Value> columns);

// Returns the view as a table, or keyed table. Copies all vectors except those that only it holds.
absl::StatusOr<Value> Release(TableView view, Budget& budget);

// `limit` if there are too many rows: row numbers have 32 bits, and one of them means "none".
absl::Status CheckRows(const TableView& view);

// Returns a row as a dictionary from column names to items; for i = kNoItem, the columns' nulls.
absl::StatusOr<Value> RowAt(const TableView& view, size_t i);

// Names columns that collide as q does: `a`, then `a1`, `a2`... Cost: O(1) per name, however many
// there are.
class UniqueNames {
 public:
  std::string Next(std::string_view name);

 private:
  StringSet taken_;
  StringMap<int> last_suffix_;  // By colliding name.
};

}  // namespace tickstack::query
