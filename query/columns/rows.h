#pragma once

// A set of rows of a table that a query reads. It consists of one of these:
//
//   one range of rows
//   several ranges, such as the rows of a symbol in the partitions of a stored table
//   ascending row numbers in runs of contiguous memory
//
// A run points into a table's index, so that `where sym=` copies nothing; or into memory that the
// set owns or keeps alive.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/scratch.h"
#include "disk/parted_index.h"
#include "table/table.h"

namespace tickstack::query {

class RowSet {
 public:
  RowSet() = default;  // No rows.
  static RowSet Range(size_t begin_row, size_t end_row);
  static RowSet FromRows(ScratchVector<uint32_t> ascending_rows);
  // Ranges must ascend; empty ones are dropped, and adjacent ones are merged.
  static RowSet FromRanges(std::span<const disk::RowRange> ranges);
  // The set points into the index, so it is valid as long as the table.
  static RowSet FromPostings(const Postings& postings);
  // Borrows row numbers; `owner` keeps them alive.
  static RowSet Borrow(std::span<const uint32_t> ascending_rows, std::shared_ptr<const void> owner);

  size_t count() const { return count_; }
  bool is_range() const { return runs_.empty() && ranges_.empty(); }
  bool has_ranges() const { return !ranges_.empty(); }  // At least two ranges.
  // Calls f(begin_row, end_row, position) for the rows at positions [begin, end) of this set, once
  // for each range that has some of them. `position` is the position of begin_row in the set. f
  // returns an absl::Status; an error ends the loop. The set must have several ranges.
  template <typename F>
  absl::Status EachRange(size_t begin, size_t end, F f) const;
  // The range of rows. Only if is_range().
  size_t begin_row() const { return begin_row_; }
  size_t end_row() const { return begin_row_ + (is_range() ? count_ : 0); }
  // True if the set is every row below `rows`.
  bool IsAllOf(size_t rows) const { return is_range() && begin_row_ == 0 && count_ == rows; }

  // Empty if the set consists of ranges. No run is empty.
  std::span<const PostingRun> runs() const { return runs_; }
  // True if the runs are postings with ascending times.
  bool has_sorted_times() const { return times_.has_value(); }
  const PostingTimes& times() const { return *times_; }  // Only if has_sorted_times().

  // Returns the row number of the i-th row. Cost: O(runs), or O(log ranges).
  size_t At(size_t i) const;
  // Skips the first `skip` rows and returns the next `n`.
  RowSet Slice(size_t skip, size_t n) const;
  // Returns the rows whose time is in [first_ns, last_ns], by binary search. Only if
  // has_sorted_times().
  RowSet WithTimes(int64_t first_ns, int64_t last_ns) const;

  ScratchVector<uint32_t> ToVector() const;
  // Returns each row's position among the rows of `outer`, of which this set is a subset.
  ScratchVector<int64_t> PositionsIn(const RowSet& outer) const;

 private:
  friend class RowSetBuilder;
  // One of several ranges. It ends where the next one begins, by `position`.
  struct RangeAt {
    size_t begin_row;
    size_t position;  // Position of its first row in the set.
  };
  void AddRun(PostingRun run);
  void AddRange(size_t begin_row, size_t end_row);
  RowSet Settled() &&;
  size_t NumberOfRange(size_t i) const;
  size_t PositionAfter(size_t range) const {
    return range + 1 < ranges_.size() ? ranges_[range + 1].position : count_;
  }

  size_t begin_row_ = 0;
  size_t count_ = 0;
  ScratchVector<PostingRun> runs_;
  ScratchVector<RangeAt> ranges_;
  std::optional<PostingTimes> times_;  // The times of the runs; set only if they ascend.
  std::shared_ptr<const void> owner_;
};

template <typename F>
absl::Status RowSet::EachRange(size_t begin, size_t end, F f) const {
  for (size_t range = begin < end ? NumberOfRange(begin) : ranges_.size();
       range < ranges_.size() && ranges_[range].position < end; ++range) {
    const size_t from = begin > ranges_[range].position ? begin - ranges_[range].position : 0;
    const size_t to =
        (end < PositionAfter(range) ? end : PositionAfter(range)) - ranges_[range].position;
    const absl::Status status = f(ranges_[range].begin_row + from, ranges_[range].begin_row + to,
                                  ranges_[range].position + from);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

// Calls f(begin_row, end_row) for each range of a set that has no runs.
template <typename F>
void EachRangeOf(const RowSet& rows, F f) {
  if (rows.is_range()) return f(rows.begin_row(), rows.end_row());
  (void)rows.EachRange(0, rows.count(), [&](size_t begin_row, size_t end_row, size_t) {
    f(begin_row, end_row);
    return absl::OkStatus();
  });
}

// Collects ascending row numbers in blocks that never move. A growing vector would touch three
// times the memory, and the first access to a page costs more than computing the numbers. The first
// blocks are small, because there may be a builder for each part of a table.
class RowSetBuilder {
 public:
  void Append(std::span<const uint32_t> ascending_rows);
  RowSet Finish() &&;
  // Returns the rows of all parts in the order of `parts`.
  static RowSet Join(std::vector<RowSetBuilder> parts);

 private:
  ScratchVector<ScratchVector<uint32_t>> blocks_;
};

}  // namespace tickstack::query
