#pragma once

// Columns as queries read them: a captured column (chunks of a table), a stored one (files of
// partitions), or the vector of a Value.
//
// A Slice is a column at some rows. It is a reference, not a copy: aggregates and conditions read
// the column in place, block by block, and only the elements of the result are copied (late
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

// Cheap to copy. Reentrant: a column is immutable, or a snapshot of a column that only grows. The
// files of a stored column are already open.
class AnyColumn {
 public:
  // `vector` is a vector or a list.
  explicit AnyColumn(Value vector);
  // `vector` may have other owners, such as a list whose item it is.
  explicit AnyColumn(std::shared_ptr<Value> vector);
  AnyColumn(std::shared_ptr<const Snapshot> snapshot, size_t index);
  explicit AnyColumn(std::shared_ptr<const StoredColumn> stored);

  Type type() const;    // A vector type, or kList.
  size_t rows() const;  // Code that uses 32-bit row numbers needs fewer than 2^32 - 1 rows.
  bool captured() const { return snapshot_ != nullptr; }
  const Snapshot& snapshot() const { return *snapshot_; }  // For a captured column.
  // Position in the table, for a captured or stored column.
  size_t index() const { return index_; }
  const StoredColumn* stored() const { return stored_.get(); }  // nullptr: it is not stored.
  const Value* value() const { return value_.get(); }           // nullptr: captured or stored.
  const std::shared_ptr<Value>& shared_value() const { return value_; }
  // True for a captured or stored column: its symbols are numbers in symbols().
  bool has_ids() const { return value_ == nullptr; }
  const SymbolTable& symbols() const {
    return captured() ? snapshot_->table().symbols() : stored_->symbols();
  }
  // True if an index has the rows of each symbol, for all rows of the column's table.
  bool indexed() const;

  // True if the elements are in memory, so that Chunk() can return them. The elements of other
  // stored columns are computed block by block (stored_column.h); ForEachBlock works for all
  // columns.
  bool direct() const { return stored_ == nullptr || stored_->direct(); }
  // Returns the elements of a chunk of a direct column. T is the C++ type of the elements: SymbolId
  // for symbols with ids. The vector of a Value is one chunk. The elements of a stored column may
  // be unverified: call Verify for the rows that are read.
  template <typename T>
  std::span<const T> Chunk(size_t chunk) const {
    if (captured()) return snapshot_->Chunk<T>(index_, chunk);
    if (value_ != nullptr) return value_->span<T>();
    const std::span<const std::byte> raw = stored_->Elements(chunk);
    return {reinterpret_cast<const T*>(raw.data()), raw.size() / sizeof(T)};
  }
  // Compare the bytes of rows with their checksums: see StoredColumn::Verify. To be called before
  // these rows are read by Chunk(). OK for columns that are not stored.
  absl::Status Verify(size_t row, size_t end_row) const {
    return stored_ == nullptr ? absl::OkStatus() : stored_->Verify(row, end_row);
  }
  void WillRead(size_t row, size_t end_row) const {
    if (stored_ != nullptr) stored_->WillRead(row, end_row);
  }
  absl::Status VerifyAscending(std::span<const uint32_t> rows) const {
    return stored_ == nullptr ? absl::OkStatus() : stored_->VerifyAscending(rows);
  }
  absl::Status VerifyAt(std::span<const uint32_t> rows) const {
    return stored_ == nullptr ? absl::OkStatus() : stored_->VerifyAt(rows);
  }
  // The simulated medium of the elements of Chunk(), to which readers report their accesses
  // (mem/medium.h); nullptr for real memory.
  mem::Medium* medium() const { return captured() ? snapshot_->MediumOf(index_) : nullptr; }
  // The rows of each chunk.
  ChunkLayout layout() const {
    if (captured()) return snapshot_->layout();
    return stored_ == nullptr ? ChunkLayout::OneChunk() : stored_->layout();
  }

  // Returns the vector of a Value, moved out, if nothing else refers to it; nullopt otherwise.
  std::optional<Value> Release() &&;

  std::string_view SymbolAt(size_t row) const;  // For a symbol column that is not stored.
  // For a captured symbol column. The caller reports the access to medium().
  SymbolId IdAt(size_t row) const;
  // Returns an atom, or an item of a kList column. Errors: `type` for an item that queries cannot
  // use, such as a function.
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

  // Returns a slice with all items of a vector or list.
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

// Calls f for blocks that together are items [begin, end) of the slice, in order. T as in
// AnyColumn::Chunk. Cost: no copy for a range of rows of a direct column; other rows are copied
// into the cache first. A block has some thousand bytes, or is a part of a chunk. A task of a
// parallel step may call this function.
template <typename T>
absl::Status ForEachBlock(const Slice& slice, size_t begin, size_t end, const Budget& budget,
                          absl::FunctionRef<void(const Block<T>&)> f);

// Calls f for blocks that together are all items of the slice.
template <typename T>
absl::Status ForEachBlock(const Slice& slice, const Budget& budget,
                          absl::FunctionRef<void(const Block<T>&)> f) {
  return ForEachBlock<T>(slice, 0, slice.count(), budget, f);
}

}  // namespace tickstack::query
