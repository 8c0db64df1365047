#pragma once

// In which order a partition has the rows of a table:
//
//   with a column `sym`   its symbols by name, the null symbol first; of a symbol by time
//   without               by time
//   neither               as they came
//
// Rows that a partition of its date leaves out (rows_of_date.h) are in none of these.
//
// `time`: a column of that name of timestamps or timespans; equal times stay in order of arrival,
// and null times come first. Nothing is sorted that is in order already, which a feed's times are,
// nearly: then a symbol's rows are those of its index, in place.
//
// Memory: 4 bytes for each row of a symbol that has to be sorted (of all rows if the table has no
// index by `sym`), and 16 for each row of a symbol while that one is.
//
// Threads: immutable once made. Valid as long as its snapshot.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/worker_pool.h"
#include "disk/column_elements.h"
#include "disk/rows_of_date.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack {

class RowOrder {
 public:
  // The rows of one symbol: [begin_row, begin_row of the next group) of the partition.
  struct Group {
    SymbolId symbol;
    size_t begin_row;
    size_t first_run;  // In runs(), whose next ones are this group's until those of the next.
    bool in_arrival;   // Row numbers ascend: nothing had to be sorted.
  };

  // Orders the rows of `of_date`, which must be of the same snapshot and outlive this. `workers`
  // help to sort; nullptr: sorts on the calling thread only.
  RowOrder(const Snapshot& snapshot, const RowsOfDate& of_date, WorkerPool* workers);
  RowOrder(const RowOrder&) = delete;
  RowOrder& operator=(const RowOrder&) = delete;

  size_t rows() const { return of_date_.rows(); }
  int sym_column() const { return sym_; }    // -1: the table has none; then there are no groups.
  int time_column() const { return time_; }  // -1: none.
  // The rows stay where they are: runs() is empty.
  bool in_place() const { return in_place_; }
  // Times ascend over all rows: never with more than one group.
  bool times_ascend() const { return times_ascend_; }
  std::span<const Group> groups() const { return groups_; }
  // Row numbers of the snapshot, one run after the other.
  std::span<const std::span<const uint32_t>> runs() const { return runs_; }

 private:
  using Runs = std::vector<std::span<const uint32_t>>;

  void ByTime();
  void BySymbol();
  void BySymbolWithoutIndex();
  // A group to be.
  struct Draft {
    SymbolId symbol;
    Runs runs;
    bool in_order;                             // Known to be in order of time.
    std::optional<std::vector<uint32_t>> own;  // Rows that `runs` has, where the index has not.
  };

  void PutInOrder(Draft& draft) const;
  void PutInOrder(WorkerPool* workers);
  std::vector<uint32_t>& Own(size_t rows);

  const Snapshot& snapshot_;
  const RowsOfDate& of_date_;
  int sym_ = -1;
  int time_ = -1;
  std::optional<ColumnElements<int64_t>> times_;
  bool in_place_ = false;
  bool times_ascend_ = false;
  std::vector<Group> groups_;
  std::vector<Draft> drafts_;  // Only while this is made.
  Runs runs_;
  std::deque<std::vector<uint32_t>> own_;  // Rows that runs_ has, where the index has not got them.
};

}  // namespace tickstack
