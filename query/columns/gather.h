#pragma once

// Copies the items of columns at some rows. It is the last step of a query that returns them.
//
// A gather is bound by latency: an item of a scattered row is a cache miss, and only prefetching
// makes many misses overlap. So items are prefetched ahead of the copy: it takes 11 to 14 ns per
// item, and 17 to 28 ns without prefetching. All threads copy all columns of a result together, in
// tasks of kStep items of one column.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/rows.h"
#include "table/value.h"

namespace tickstack::query {

// Copies a fixed-width column at some rows into a vector.
class ColumnCopy {
 public:
  explicit ColumnCopy(const Slice& slice);
  // Copies the column's items at `positions`, with its type's null for kNoItem. Borrows
  // `positions`.
  ColumnCopy(AnyColumn column, std::span<const uint32_t> positions);

  size_t count() const { return count_; }
  absl::Status Reserve(Budget& budget);  // Makes room for the items.
  // Copies items [begin, end). Several threads may call it at the same time for different items.
  // Errors: those of reading a stored column.
  absl::Status Copy(size_t begin, size_t end);
  Value Finish() &&;  // Call it when all items are copied.

 private:
  struct Run {
    size_t begin;  // Index of its first item among all.
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

  AnyColumn column_;
  Type type_;
  std::shared_ptr<const RowSet> rows_;  // Rows of a slice.
  size_t first_row_ = 0;                // First row, if the rows are one range.
  bool in_ranges_ = false;              // True if the rows are one or several ranges.
  std::vector<Run> runs_;               // Empty if the rows are ranges.
  size_t count_ = 0;
  ChunkLayout layout_;
  ScratchVector<uintptr_t> origins_;  // By chunk: the address that its row 0 would have.
  ByteBuffer bytes_;
};

// Reserves memory for all copies, and makes them on all threads.
absl::Status CopyAll(std::span<ColumnCopy> copies, Budget& budget);

// Returns a copy of the slice's items, after charging the budget for it.
absl::StatusOr<Value> Materialise(const Slice& slice, Budget& budget);

// Like Materialise, but moves a vector that has no other owner instead of copying it.
absl::StatusOr<Value> Release(Slice slice, Budget& budget);

// Returns the column's items at these rows as one vector, with a null for kNoItem.
absl::StatusOr<Value> GatherRows(const AnyColumn& column, std::span<const uint32_t> rows,
                                 Budget& budget);

}  // namespace tickstack::query
