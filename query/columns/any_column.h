#pragma once

// Columns as queries read them: a captured column (chunks of a table), a stored one (files of
// partitions), or the vector of a Value. A
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

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/status.h"
#include "mem/medium.h"
#include "query/columns/budget.h"
#include "query/columns/elements.h"
#include "query/columns/rows.h"
#include "query/columns/stored_column.h"
#include "table/chunk_layout.h"
#include "table/symbols.h"
#include "table/table.h"
#include "table/value.h"

namespace tickstack::query {

// Cheap to copy. Reentrant: a column is immutable, or a snapshot of one that only grows. The files
// of a stored column are open.
class AnyColumn {
 public:
  // `vector` is a vector or a list.
  explicit AnyColumn(Value vector);
  // A vector that is shared, such as an item of a list.
  explicit AnyColumn(std::shared_ptr<Value> vector);
  AnyColumn(std::shared_ptr<const Snapshot> snapshot, size_t index);
  explicit AnyColumn(std::shared_ptr<const StoredColumn> stored);

  Type type() const;    // A vector type, or kList.
  size_t rows() const;  // Below 2^32 - 1 where row numbers are used.
  bool captured() const { return snapshot_ != nullptr; }
  const Snapshot& snapshot() const { return *snapshot_; }  // For a captured column.
  size_t index() const { return index_; }  // In the table, of a captured or stored column.
  const StoredColumn* stored() const { return stored_.get(); }  // nullptr: it is another one.
  const Value* value() const { return value_.get(); }           // nullptr: captured or stored.
  const std::shared_ptr<Value>& shared_value() const { return value_; }
  // True if symbols are numbers in symbols(): for a captured or stored column.
  bool has_ids() const { return value_ == nullptr; }
  const SymbolTable& symbols() const {
    return captured() ? snapshot_->table().symbols() : stored_->symbols();
  }
  // True if an index has the rows of each symbol, for all rows of the column's table.
  bool indexed() const;

  // True if the elements are in memory, so that Chunk() can return them. Those of some stored
  // columns are made block by block (stored_column.h); ForEachBlock works for all columns.
  bool direct() const { return stored_ == nullptr || stored_->direct(); }
  // The elements of chunk `chunk` of a direct column: T is the C++ type of the elements, SymbolId
  // for symbols with ids. The vector of a Value is one chunk. Those of a stored column may be
  // unverified: call Verify for the rows that are read.
  template <typename T>
  std::span<const T> Chunk(size_t chunk) const {
    if (captured()) return snapshot_->Chunk<T>(index_, chunk);
    if (value_ != nullptr) return value_->span<T>();
    const std::span<const std::byte> raw = stored_->Elements(chunk);
    return {reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T)};
  }
  // Compares the rows' bytes on the disk with their checksums before they are read by Chunk(): see
  // StoredColumn::Verify. OK for columns that are not stored.
  absl::Status Verify(size_t row, size_t end_row) const {
    return stored_ == nullptr ? absl::OkStatus() : stored_->Verify(row, end_row);
  }
  absl::Status VerifyAscending(std::span<const uint32_t> rows) const {
    return stored_ == nullptr ? absl::OkStatus() : stored_->VerifyAscending(rows);
  }
  absl::Status VerifyAt(std::span<const uint32_t> rows) const {
    return stored_ == nullptr ? absl::OkStatus() : stored_->VerifyAt(rows);
  }
  // The medium that readers charge for the elements of Chunk() (mem/medium.h); nullptr for real
  // memory.
  mem::Medium* medium() const { return captured() ? snapshot_->MediumOf(index_) : nullptr; }
  // The rows of each chunk.
  ChunkLayout layout() const {
    if (captured()) return snapshot_->layout();
    return stored_ == nullptr ? ChunkLayout::OneChunk() : stored_->layout();
  }

  // Returns the vector of a Value, moved out, if nothing else refers to it; nullopt otherwise.
  std::optional<Value> Release() &&;

  std::string_view SymbolAt(size_t row) const;  // For a symbol column that is not stored.
  SymbolId IdAt(size_t row) const;              // For a captured one, which the caller charges.
  // Returns an atom, or an item of a kList column. `type` for an item that queries cannot use, such
  // as a function.
  absl::StatusOr<Value> At(size_t row) const;

 private:
  std::shared_ptr<Value> value_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::shared_ptr<const StoredColumn> stored_;
  size_t index_ = 0;
};

// A column at some rows.
struct Slice {
  AnyColumn column;
  std::shared_ptr<const RowSet> rows;

  // Returns all rows of a vector or list.
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

// Calls f over items [begin, end) of the slice in order. T as in AnyColumn::Chunk. Cost: no copy
// for a range of rows, one gather into the cache for scattered rows; one call for each block of
// some thousand bytes, or for each chunk. A task of a parallel step may call it.
template <typename T>
absl::Status ForEachBlock(const Slice& slice, size_t begin, size_t end, const Budget& budget,
                          absl::FunctionRef<void(const Block<T>&)> f);

// The same over all items.
template <typename T>
absl::Status ForEachBlock(const Slice& slice, const Budget& budget,
                          absl::FunctionRef<void(const Block<T>&)> f) {
  return ForEachBlock<T>(slice, 0, slice.count(), budget, f);
}

}  // namespace tickstack::query
