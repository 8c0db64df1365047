#pragma once

// Copies of columns at some rows: what every result is made of in the end.
//
// A gather is bound by latency: an item of a scattered row is a cache miss, and as many of them are
// under way as somebody asked for. So the items are prefetched some way ahead of the copy (11 to 14
// ns an item were measured, where plain gathers take 17 to 28), and all columns of a result are
// copied by all threads together, in tasks of kStep items of a column.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/column.h"
#include "query/columns/rows.h"
#include "table/value.h"

namespace tickstack::query {

// A fixed-width column at some rows on its way into a vector.
class ColumnCopy {
 public:
  explicit ColumnCopy(const Slice& slice);
  // The items at `positions` of the column, its type's null for kNoItem. Borrows the positions.
  ColumnCopy(Column column, std::span<const uint32_t> positions);

  size_t count() const { return count_; }
  absl::Status Reserve(Budget& budget);  // Makes room for the items.
  // Copies the items [begin, end). Any thread, several at a time if their items are not the same.
  // Errors: of a stored column, whose names are found to be none.
  absl::Status Copy(size_t begin, size_t end);
  Value Finish() &&;  // When all items are copied.

 private:
  struct Run {
    size_t begin;  // Number of its first item among all.
    std::span<const uint32_t> rows;
    mem::Medium* medium;  // Medium of the row numbers.
  };
  void AddRun(std::span<const uint32_t> rows, mem::Medium* medium);
  absl::Status CopyRange(size_t begin, size_t end);
  absl::Status CopyRows(size_t begin_row, size_t end_row, std::byte* out) const;
  template <typename T>
  absl::Status GatherMade(std::span<const uint32_t> rows, T* out) const;
  template <typename T>
  void Gather(std::span<const uint32_t> rows, T* out) const;

  Column column_;
  Type type_;
  std::shared_ptr<const RowSet> rows_;  // Rows of a slice.
  size_t first_row_ = 0;                // First row of a range.
  bool in_ranges_ = false;              // One or several.
  std::vector<Run> runs_;               // None: ranges.
  size_t count_ = 0;
  ChunkLayout layout_;
  ScratchVector<uintptr_t> origins_;  // For each chunk, where its row 0 would be.
  ByteBuffer bytes_;
};

// Reserves, and copies with all threads.
absl::Status CopyAll(std::span<ColumnCopy> copies, Budget& budget);

// Copies the slice out; charges the budget first.
absl::StatusOr<Value> Materialise(const Slice& slice, Budget& budget);

// As Materialise, but moves a vector that only the slice holds.
absl::StatusOr<Value> Release(Slice slice, Budget& budget);

// The items at positions of the column (row numbers, kNoItem: null), as one vector.
absl::StatusOr<Value> GatherRows(const Column& column, std::span<const uint32_t> rows,
                                 Budget& budget);

}  // namespace tickstack::query
