#pragma once

// The groups of a query's `by`: their keys, in ascending order as in q's result, and their rows.
// grouped.h evaluates expressions over them. There are two kinds:
//
//   from an index   by a captured symbol column, over all rows of its table or those of some
//                   symbols: the index has the rows of each group, so no column is read
//   numbered        by anything else: each row gets the number of its group (group_numbers.h)
//
// Groups of stored tables are in stored_groups.h.

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/rows.h"
#include "query/grouping/group_numbers.h"
#include "query/kernels/symbol_rows.h"
#include "table/value.h"

namespace tickstack::query {

// For each group: the row numbers of its first and last row, and how many rows it has.
struct GroupEnds {
  ScratchVector<uint32_t> first_rows, last_rows;
  ScratchVector<int64_t> rows;
};

class Groups {
 public:
  virtual ~Groups() = default;
  Groups(const Groups&) = delete;
  Groups& operator=(const Groups&) = delete;

  size_t count() const { return count_; }
  // The key columns: one vector per column, with an item per group.
  const std::vector<Value>& keys() const { return keys_; }

  // Must be called before RowsOf.
  virtual absl::Status PrepareRows(Budget&) { return absl::OkStatus(); }
  // Returns the rows of a group. Unless the groups already have such sets, this call makes the set
  // and does not keep it, because there may be as many groups as rows.
  virtual std::shared_ptr<const RowSet> RowsOf(size_t group) const = 0;

  // Returns the ends of all groups if they are known without a pass over the rows; nullptr
  // otherwise.
  virtual const GroupEnds* ends() const { return nullptr; }
  // Returns the number of each row's group; nullptr if it is less work to visit the rows of each
  // group. The numbers are computed once, and charged.
  virtual absl::StatusOr<const GroupNumbers*> Numbers(Budget& budget) = 0;

 protected:
  Groups(std::vector<Value> keys, size_t count) : keys_(std::move(keys)), count_(count) {}

 private:
  const std::vector<Value> keys_;
  const size_t count_;
};

// Returns the groups of all rows of a table by a captured symbol column. They come from the
// column's index; the column itself is not read. nullptr if the column has no index, or if `key` is
// not the whole column.
// Cost: about 100 ns per symbol of the process.
absl::StatusOr<std::unique_ptr<Groups>> GroupsFromIndex(const Slice& key, Budget& budget);

// Returns the groups by symbol of rows that a condition selected from the index, symbol by symbol.
// `rows_around` are the rows of the scope, which include the selected ones. Numbers() of the result
// has a number for each of `rows_around`.
absl::StatusOr<std::unique_ptr<Groups>> GroupsOfSymbols(const SymbolRows& symbols,
                                                        const RowSet& rows_around, Budget& budget);

// Groups `rows` by the values of key columns, which have an item for each of these rows. Cost and
// errors: those of NumberGroups.
absl::StatusOr<std::unique_ptr<Groups>> GroupByValues(std::span<const KeyColumn> keys,
                                                      std::shared_ptr<const RowSet> rows,
                                                      Budget& budget);

}  // namespace tickstack::query
