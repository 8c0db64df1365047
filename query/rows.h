#pragma once

// Which rows of a table a query looks at: a range of them, or ascending row numbers in runs of
// contiguous memory. Runs either point into a table's index, so that `where sym=` copies nothing,
// or into memory of the set's own.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/scratch.h"
#include "table/table.h"

namespace tickstack::query {

class RowSet {
 public:
  RowSet() = default;  // No rows.
  static RowSet Range(size_t begin_row, size_t end_row);
  static RowSet Of(ScratchVector<uint32_t> ascending_rows);
  // Points into the index: valid as long as the table.
  static RowSet OfPostings(const Postings& postings);
  // A part of somebody else's row numbers; `owner` keeps them.
  static RowSet Borrow(std::span<const uint32_t> ascending_rows, std::shared_ptr<const void> owner);

  size_t count() const { return count_; }
  bool is_range() const { return runs_.empty(); }
  size_t begin_row() const { return begin_row_; }  // Of a range.
  size_t end_row() const { return begin_row_ + (is_range() ? count_ : 0); }
  // Every row below `rows`.
  bool IsAllOf(size_t rows) const { return is_range() && begin_row_ == 0 && count_ == rows; }

  std::span<const PostingRun> runs() const { return runs_; }  // Empty for a range. No run is empty.
  // The runs are postings whose times ascend.
  bool has_sorted_times() const { return times_.has_value(); }
  const PostingTimes& times() const { return *times_; }  // If has_sorted_times().

  // Row number of the i-th row. Cost: O(runs).
  size_t At(size_t i) const;
  // The first `n` rows after the first `skip`.
  RowSet Slice(size_t skip, size_t n) const;
  // The rows whose time is in [first_ns, last_ns], by binary search. Needs has_sorted_times().
  RowSet WithTimes(int64_t first_ns, int64_t last_ns) const;

  ScratchVector<uint32_t> ToVector() const;
  // For each row its position among the rows of `outer`, of which this set is a subset.
  ScratchVector<int64_t> PositionsIn(const RowSet& outer) const;

 private:
  friend class RowSetBuilder;
  void AddRun(PostingRun run);

  size_t begin_row_ = 0;
  size_t count_ = 0;
  ScratchVector<PostingRun> runs_;
  std::optional<PostingTimes> times_;  // Only if they ascend and there are runs.
  std::shared_ptr<const void> owner_;
};

// Collects ascending row numbers in blocks that never move: a growing vector would touch three
// times the memory, and fresh pages cost more than the kernel that fills them. Blocks begin small,
// since there may be a builder for each part of a table.
class RowSetBuilder {
 public:
  void Append(std::span<const uint32_t> ascending_rows);
  RowSet Finish() &&;
  // The rows of several, each after those of the one before.
  static RowSet Join(std::vector<RowSetBuilder> parts);

 private:
  ScratchVector<ScratchVector<uint32_t>> blocks_;
};

}  // namespace tickstack::query
