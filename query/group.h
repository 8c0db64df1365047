#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/budget.h"
#include "query/column.h"
#include "query/rows.h"
#include "query/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// The groups of a query's `by`, ascending by key as q orders its result: one vector per key column
// with an item a group, and each group's rows of the query's table. Row sets are made when they are
// asked for, since there may be as many groups as rows.
class Groups {
 public:
  Groups() = default;
  // Of an index: the row set of each group.
  Groups(std::vector<Value> keys, std::vector<std::shared_ptr<const RowSet>> rows);
  // `rows` holds the rows of group i from where those of group i-1 end up to ends[i].
  Groups(std::vector<Value> keys, std::shared_ptr<const ScratchVector<uint32_t>> rows,
         ScratchVector<uint32_t> ends);

  size_t count() const { return order_.size(); }
  const std::vector<Value>& keys() const { return keys_; }
  std::shared_ptr<const RowSet> RowsOf(size_t group) const;

 private:
  void Sort(size_t groups);

  std::vector<Value> keys_;
  ScratchVector<uint32_t> order_;  // Groups in the order of their keys.
  std::vector<std::shared_ptr<const RowSet>> indexed_;
  std::shared_ptr<const ScratchVector<uint32_t>> rows_;
  ScratchVector<uint32_t> ends_;
};

// Groups the rows of one captured symbol column out of its index, without reading the column; for
// all rows of a table. nullopt: there is no such index.
absl::StatusOr<std::optional<Groups>> GroupsFromIndex(const Slice& key, Budget& budget);

// Groups rows by the values of key columns, which have an item for each of the rows.
// Cost: a hash a row and column, one counting sort, and a sort of the groups.
absl::StatusOr<Groups> GroupByValues(std::span<const Slice> keys, const RowSet& rows,
                                     Budget& budget);

}  // namespace tickstack::query
