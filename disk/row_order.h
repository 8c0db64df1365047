#pragma once

// The order in which a partition has the rows of a table:
//
//   with a column `sym`   by the name of the symbol, nulls first; the rows of a symbol by time
//   only with `time`      by time
//   with neither          in order of arrival
//
// Rows of other dates than the partition's are excluded (rows_of_date.h).
//
// `time` is a column of that name of timestamps or timespans. Equal times keep the order of
// arrival, and null times come first. Rows that are already in order are not sorted. A feed's times
// nearly ascend, so for most symbols the runs are the row numbers in the index itself, without a
// copy.
//
// Memory: 4 bytes for each row of a symbol that must be sorted (of all rows if the table has no
// index by `sym`), and 16 for each row of a symbol while it is sorted.
//
// Threads: immutable once made. Valid while its snapshot exists.

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

namespace tickstack::disk {

class RowOrder {
 public:
  // The rows of one symbol: [begin_row, begin_row of the next group) of the partition.
  struct Group {
    SymbolId symbol;
    size_t begin_row;
    size_t first_run;  // Its first run in runs(); the next group's first run ends it.
    bool in_arrival;   // True if row numbers ascend, so that nothing had to be sorted.
  };

  // Orders the rows that `of_date` includes. `of_date` must be of the same snapshot, and both must
  // outlive this object. `workers` help to sort; with nullptr, only the calling thread sorts.
  RowOrder(const Snapshot& snapshot, const RowsOfDate& of_date, WorkerPool* workers);
  RowOrder(const RowOrder&) = delete;
  RowOrder& operator=(const RowOrder&) = delete;

  size_t rows() const { return of_date_.rows(); }
  int sym_column() const { return sym_; }    // -1 if the table has none; then there are no groups.
  int time_column() const { return time_; }  // -1 if there is none.
  // True if the rows stay in order of arrival; runs() is then empty.
  bool in_place() const { return in_place_; }
  // True if times ascend over all rows, which requires a single group.
  bool times_ascend() const { return times_ascend_; }
  std::span<const Group> groups() const { return groups_; }
  // Row numbers of the snapshot, one run after the other.
  std::span<const std::span<const uint32_t>> runs() const { return runs_; }

 private:
  using Runs = std::vector<std::span<const uint32_t>>;

  void ByTime();
  void BySymbol();
  void BySymbolWithoutIndex();
  // A group under construction.
  struct Draft {
    SymbolId symbol;
    Runs runs;
    bool in_order;                             // True if the rows are known to be in order of time.
    std::optional<std::vector<uint32_t>> own;  // Rows of `runs` that the index does not have.
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
  std::vector<Draft> drafts_;  // Used only during construction.
  Runs runs_;
  std::deque<std::vector<uint32_t>> own_;  // Rows of runs_ that the index does not have.
};

}  // namespace tickstack::disk
