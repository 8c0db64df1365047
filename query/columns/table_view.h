#pragma once

// A table as a query sees it: named columns, all at the same rows. `select a,b from t where ...` is
// one of these until somebody needs its elements.

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/string_map.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "query/columns/rows.h"
#include "query/columns/view_column.h"
#include "table/table.h"
#include "table/value.h"

namespace tickstack::query {

struct TableView {
  std::vector<std::string> names;
  // One per name, each with at least the rows of `rows`. A deferred one is gathered when its
  // elements are needed (view_column.h).
  std::vector<ViewColumn> columns;
  std::shared_ptr<const RowSet> rows = std::make_shared<const RowSet>();
  size_t key_columns = 0;  // The first ones, of a keyed table.
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

// One off the wire may be anything: `type` or `length` unless its columns are vectors of one count,
// with names.
absl::Status CheckTable(const Value& value);

// `value` is a table or keyed table from anywhere: `type` or `length` if its columns are not
// vectors of one count.
absl::StatusOr<TableView> ViewOf(Value value);

// A table (or keyed table) of vectors as they are: equal counts, checked by the caller.
TableView ViewOf(std::vector<std::string> names, std::vector<Value> columns);

// Copies it out, except for vectors that only this view holds: a table, or a keyed table.
absl::StatusOr<Value> Release(TableView view, Budget& budget);

// `limit`: row numbers are 32 bits, and one of them means "none".
absl::Status CheckRows(const TableView& view);

// One row: a dictionary of column names to items. With i = kNoItem the nulls of the columns.
absl::StatusOr<Value> RowAt(const TableView& view, size_t i);

// How q names columns that collide: `a`, then `a1`, `a2`... Cost: O(1) a name, however many there
// are.
class UniqueNames {
 public:
  std::string Next(std::string_view name);

 private:
  StringSet taken_;
  StringMap<int> last_suffix_;  // By colliding name.
};

}  // namespace tickstack::query
