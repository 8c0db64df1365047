#pragma once

// Columns as queries read them: a captured column (chunks of a table), or the vector of a Value. A
// Slice is a column at some rows, which nobody has copied yet: aggregates and conditions read it
// block by block where it lies, and only what a result really needs is copied (late
// materialisation).

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "query/budget.h"
#include "query/elements.h"
#include "query/rows.h"
#include "table/chunk_layout.h"
#include "table/symbols.h"
#include "table/table.h"
#include "table/value.h"

namespace tickstack::query {

// Cheap to copy. Reentrant: a column is immutable, or a snapshot of one that only grows.
class Column {
 public:
  // `vector` is a vector or a list.
  explicit Column(Value vector);
  Column(std::shared_ptr<const Snapshot> snapshot, size_t index);

  Type type() const;    // A vector type, or kList.
  size_t rows() const;  // Below 2^32 - 1 where row numbers are used.
  bool captured() const { return snapshot_ != nullptr; }
  const Snapshot& snapshot() const { return *snapshot_; }  // Of a captured column.
  size_t index() const { return index_; }
  const SymbolTable& symbols() const { return snapshot_->table().symbols(); }
  const Value* value() const { return value_.get(); }  // nullptr: captured.

  // The elements of chunk `chunk`: T is the C++ type of the elements, SymbolId for a captured
  // symbol column. The vector of a Value is one chunk.
  template <typename T>
  std::span<const T> Chunk(size_t chunk) const {
    if (captured()) return snapshot_->Chunk<T>(index_, chunk);
    return value_->span<T>();
  }
  // Which rows are in which chunk.
  ChunkLayout layout() const { return captured() ? snapshot_->layout() : ChunkLayout::OneChunk(); }

  // The vector of a Value, moved out if nobody else holds it; nullopt otherwise.
  std::optional<Value> Release() &&;

  std::string_view SymbolAt(size_t row) const;  // Of a symbol column.
  // An atom, or an item of a kList column. `type` for an item that no query can use (a function).
  absl::StatusOr<Value> At(size_t row) const;

 private:
  std::shared_ptr<Value> value_;
  std::shared_ptr<const Snapshot> snapshot_;
  size_t index_ = 0;
};

// A column at some rows.
struct Slice {
  Column column;
  std::shared_ptr<const RowSet> rows;

  // All of a vector or list.
  static Slice Of(Value vector);

  Type type() const { return column.type(); }
  size_t count() const { return rows->count(); }
  absl::StatusOr<Value> At(size_t i) const { return column.At(rows->At(i)); }
  bool IsAll() const { return rows->IsAllOf(column.rows()); }
};

// Elements of a slice that lie together in memory, and their row numbers: `rows[i]`, or
// `first_row + i` where `rows` is nullptr.
template <typename T>
struct Block {
  std::span<const T> elements;
  const uint32_t* rows = nullptr;
  size_t first_row = 0;

  uint32_t RowAt(size_t i) const {
    return rows != nullptr ? rows[i] : static_cast<uint32_t>(first_row + i);
  }
};

namespace internal {

template <typename T, typename F>
absl::Status ForEachBlockOfRange(const Slice& slice, size_t begin, size_t end, const Budget& budget,
                                 F& f) {
  const ChunkLayout layout = slice.column.layout();
  const size_t end_row = slice.rows->begin_row() + end;
  for (size_t row = slice.rows->begin_row() + begin; row < end_row;) {
    const ChunkLayout::Chunk chunk = layout.ChunkOf(row);
    const size_t n = std::min(end_row, chunk.end_row) - row;
    TS_RETURN_IF_ERROR(budget.CheckTime());
    f(Block<T>{slice.column.Chunk<T>(chunk.number).subspan(row - chunk.begin_row, n), nullptr,
               row});
    row += n;
  }
  return absl::OkStatus();
}

// How many rows ahead a gather fetches: enough that the memory always has several to look up, few
// enough that they are still in the first-level cache when they are read.
inline constexpr size_t kGatherAhead = 24;

// Copies the elements of ascending rows out of one chunk, which begins at `begin_row`. Elements of
// rows[n] to rows[n + ahead - 1] are fetched, as if they were in the chunk: one that is not is a
// fetch of no use.
template <typename T>
void GatherFromChunk(const T* chunk, size_t begin_row, const uint32_t* rows, size_t n, size_t ahead,
                     T* out) {
  const auto base = reinterpret_cast<uintptr_t>(chunk) - begin_row * sizeof(T);
  const size_t fetched = std::min(n, n + ahead - std::min(n + ahead, kGatherAhead));
  size_t i = 0;
  for (; i < fetched; ++i) {
    __builtin_prefetch(reinterpret_cast<const T*>(base + rows[i + kGatherAhead] * sizeof(T)));
    out[i] = chunk[rows[i] - begin_row];
  }
  for (; i < n; ++i) out[i] = chunk[rows[i] - begin_row];
}

// Gathers scattered rows into a block that stays in the first-level cache, so that every kernel has
// one form, over contiguous elements; the extra pass costs less than a quarter of the gather.
template <typename T, typename F>
absl::Status ForEachBlockOfRuns(const Slice& slice, size_t begin, size_t end, const Budget& budget,
                                F& f) {
  constexpr size_t kGathered = 8192 / sizeof(T);
  std::array<T, kGathered> gathered;
  const ChunkLayout layout = slice.column.layout();
  size_t until_check = 0;
  for (const PostingRun& run : slice.rows->runs()) {
    const size_t run_end = std::min(end, run.rows.size());
    for (size_t done = std::min(begin, run_end); done < run_end;) {
      if (until_check-- == 0) {
        TS_RETURN_IF_ERROR(budget.CheckTime());
        until_check = 256;
      }
      const size_t n = std::min(kGathered, run_end - done);
      const uint32_t* const rows = run.rows.data() + done;
      for (size_t i = 0; i < n;) {
        const ChunkLayout::Chunk chunk = layout.ChunkOf(rows[i]);
        const auto in_chunk = static_cast<size_t>(
            rows[n - 1] < chunk.end_row
                ? n - i
                : static_cast<size_t>(std::lower_bound(rows + i, rows + n, chunk.end_row) - rows) -
                      i);
        GatherFromChunk(slice.column.Chunk<T>(chunk.number).data(), chunk.begin_row, rows + i,
                        in_chunk, run_end - done - i - in_chunk, gathered.data() + i);
        i += in_chunk;
      }
      f(Block<T>{std::span<const T>(gathered.data(), n), rows, 0});
      done += n;
    }
    begin -= std::min(begin, run.rows.size());
    end -= std::min(end, run.rows.size());
    if (end == 0) break;
  }
  return absl::OkStatus();
}

}  // namespace internal

// Calls f(Block<T>) over items [begin, end) of the slice in order. T as in Column::Chunk. Cost: no
// copy for a range of rows, one gather into the cache for scattered ones. A task of a parallel step
// may call it.
template <typename T, typename F>
absl::Status ForEachBlock(const Slice& slice, size_t begin, size_t end, const Budget& budget, F f) {
  if (slice.rows->is_range()) {
    return internal::ForEachBlockOfRange<T>(slice, begin, end, budget, f);
  }
  return internal::ForEachBlockOfRuns<T>(slice, begin, end, budget, f);
}

// The same over all items.
template <typename T, typename F>
absl::Status ForEachBlock(const Slice& slice, const Budget& budget, F f) {
  return ForEachBlock<T>(slice, 0, slice.count(), budget, std::move(f));
}

}  // namespace tickstack::query
