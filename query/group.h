#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "query/budget.h"
#include "query/column.h"
#include "query/rows.h"
#include "query/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// The groups of a query's `by`, ascending by key as q orders its result.
struct Groups {
  std::vector<Value> keys;                          // One vector per key column, an item a group.
  std::vector<std::shared_ptr<const RowSet>> rows;  // One a group, of the query's table.
};

// Groups the rows of one captured symbol column out of its index, without reading the column; for
// all rows of a table. nullopt: there is no such index.
absl::StatusOr<std::optional<Groups>> GroupsFromIndex(const Slice& key, Budget& budget);

// Groups rows by the values of key columns, which have an item for each of the rows.
// Cost: a hash a row and column, one counting sort, and a sort of the groups.
absl::StatusOr<Groups> GroupByValues(std::span<const Slice> keys, const RowSet& rows,
                                     Budget& budget);

}  // namespace tickstack::query
