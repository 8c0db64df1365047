#pragma once

// The groups of a query's `by`, ascending by key as in q's result: their keys, and ways to their
// rows. grouped.h evaluates expressions over them.
//
//   out of an index     by a captured symbol column, over all rows of its table or those of some
//                       symbols: each group's rows are at hand, no row is read to find them
//   numbered            by anything else: each row's group is (group_numbers.h)

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

// By group: the row numbers of its first and last row, and its number of rows.
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
  // One vector per column, with an item per group.
  const std::vector<Value>& keys() const { return keys_; }

  // Returns the rows of a group; call PrepareRows first. They are made on demand, because there may
  // be as many groups as rows.
  virtual absl::Status PrepareRows(Budget&) { return absl::OkStatus(); }
  virtual std::shared_ptr<const RowSet> RowsOf(size_t group) const = 0;

  // Returns the ends of all groups if they are known without a pass over the rows; nullptr
  // otherwise.
  virtual const GroupEnds* ends() const { return nullptr; }
  // Returns the number of each row's group; nullptr if visiting the groups' row sets is less work.
  // The numbers are kept and charged.
  virtual absl::StatusOr<const GroupNumbers*> Numbers(Budget& budget) = 0;

 protected:
  Groups(std::vector<Value> keys, size_t count) : keys_(std::move(keys)), count_(count) {}

 private:
  const std::vector<Value> keys_;
  const size_t count_;
};

// Returns the groups of one captured symbol column from its index, without reading the column, for
// all rows of a table. nullptr if there is no such index.
// Cost: about 100 ns per symbol of the stack.
absl::StatusOr<std::unique_ptr<Groups>> GroupsFromIndex(const Slice& key, Budget& budget);

// The same for rows that a condition selected from the index symbol by symbol. `rows_around` are
// the rows of the scope, which contain them: Numbers() numbers these.
absl::StatusOr<std::unique_ptr<Groups>> GroupsOfSymbols(const SymbolRows& symbols,
                                                        const RowSet& rows_around, Budget& budget);

// Groups rows by the values of key columns, which have these rows. Cost and errors: those of
// NumberGroups.
absl::StatusOr<std::unique_ptr<Groups>> GroupByValues(std::span<const KeyColumn> keys,
                                                      std::shared_ptr<const RowSet> rows,
                                                      Budget& budget);

}  // namespace tickstack::query
