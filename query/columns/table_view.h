#pragma once

// A table as a query sees it: named columns, all at the same rows. The result of `select a,b from t
// where ...` remains such a view, without a copy, until its elements are needed.

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
  // One column per name; `rows` are row numbers of every column. A deferred column is gathered when
  // its elements are needed (view_column.h).
  std::vector<ViewColumn> columns;
  std::shared_ptr<const RowSet> rows = std::make_shared<const RowSet>();
  size_t key_columns = 0;  // For a keyed table: the number of leading columns that are keys.
  // For a stored table: its parts, since `i` restarts at 0 in each of them. nullptr for any other
  // table, such as one that was selected from a stored table.
  std::shared_ptr<const StoredParts> stored = nullptr;

  size_t count() const { return rows->count(); }
  int Find(std::string_view name) const;  // -1: there is no such column.
  // Return columns at the view's rows. Deferred ones are gathered, and stored ones are opened.
  absl::StatusOr<Slice> ColumnAt(size_t column, Budget& budget) const;
  absl::StatusOr<std::vector<Slice>> ColumnsAt(std::span<const size_t> wanted,
                                               Budget& budget) const;
};

TableView ViewOf(Snapshot snapshot);
TableView ViewOf(std::shared_ptr<const StoredParts> parts);

// Checks a table from the wire. `type` or `length` unless its columns have names and are vectors or
// lists of equal counts.
absl::Status CheckTable(const Value& value);

// Returns a view of a table or keyed table, after checking it. Errors: `type` for any other value,
// and those of CheckTable.
absl::StatusOr<TableView> ViewOf(Value value);

// Returns a view of a table without keys. The caller has checked that the columns are vectors of
// equal counts.
TableView ViewOf(std::vector<std::string> names, std::vector<Value> columns);

// Returns the view as a table or keyed table. Vectors that have no other owner are moved, and all
// others copied.
absl::StatusOr<Value> Release(TableView view, Budget& budget);

// `limit` if there are too many rows: row numbers have 32 bits, and one number means "none".
absl::Status CheckRows(const TableView& view);

// Returns row i as a dictionary from column names to items. For kNoItem the items are nulls.
absl::StatusOr<Value> RowAt(const TableView& view, size_t i);

// Makes column names unique as q does: the second column named `a` becomes `a1`, the third `a2`...
// Cost: O(1) per name.
class UniqueNames {
 public:
  std::string Next(std::string_view name);

 private:
  StringSet taken_;
  StringMap<int> last_suffix_;  // By the name without a suffix.
};

}  // namespace tickstack::query
