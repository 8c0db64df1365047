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
absl::Status ForEachBlockOfRange(const Slice& slice, const Budget& budget, F& f) {
  const ChunkLayout layout = slice.column.layout();
  const size_t end = slice.rows->end_row();
  for (size_t row = slice.rows->begin_row(); row < end;) {
    const ChunkLayout::Chunk chunk = layout.ChunkOf(row);
    const size_t n = std::min(end, chunk.end_row) - row;
    TS_RETURN_IF_ERROR(budget.CheckTime());
    f(Block<T>{slice.column.Chunk<T>(chunk.number).subspan(row - chunk.begin_row, n), nullptr,
               row});
    row += n;
  }
  return absl::OkStatus();
}

// Gathers scattered rows into a block that stays in the first-level cache, so that every kernel has
// one form, over contiguous elements; the extra pass costs less than a quarter of the gather.
template <typename T, typename F>
absl::Status ForEachBlockOfRuns(const Slice& slice, const Budget& budget, F& f) {
  constexpr size_t kGathered = 8192 / sizeof(T);
  std::array<T, kGathered> gathered;
  const ChunkLayout layout = slice.column.layout();
  ChunkLayout::Chunk chunk{};  // In hand.
  const T* elements = nullptr;
  size_t until_check = 0;
  for (const PostingRun& run : slice.rows->runs()) {
    for (size_t done = 0; done < run.rows.size();) {
      if (until_check-- == 0) {
        TS_RETURN_IF_ERROR(budget.CheckTime());
        until_check = 256;
      }
      const size_t n = std::min(kGathered, run.rows.size() - done);
      const uint32_t* rows = run.rows.data() + done;
      for (size_t i = 0; i < n; ++i) {
        const size_t row = rows[i];
        if (row >= chunk.end_row || row < chunk.begin_row) [[unlikely]] {
          chunk = layout.ChunkOf(row);
          elements = slice.column.Chunk<T>(chunk.number).data();
        }
        gathered[i] = elements[row - chunk.begin_row];
      }
      f(Block<T>{std::span<const T>(gathered.data(), n), rows, 0});
      done += n;
    }
  }
  return absl::OkStatus();
}

}  // namespace internal

// Calls f(Block<T>) over all elements of the slice in order. T as in Column::Chunk. Cost: no copy
// for a range of rows, one gather into the cache for scattered ones.
template <typename T, typename F>
absl::Status ForEachBlock(const Slice& slice, const Budget& budget, F f) {
  if (slice.rows->is_range()) return internal::ForEachBlockOfRange<T>(slice, budget, f);
  return internal::ForEachBlockOfRuns<T>(slice, budget, f);
}

}  // namespace tickstack::query
