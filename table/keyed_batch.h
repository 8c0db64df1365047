#pragma once

// A batch prepared for a keyed table: its columns in the form that the table stores, and a hash of
// each row's key.
//
// Keys are compared bit by bit. To make that agree with equality of floats, key columns store 0 for
// -0, and the null for every NaN.
//
// Threads: one owner. Its buffers are reused from batch to batch.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/symbols.h"

namespace tickstack {

// Returns the size of an element of this type in a keyed table, in bytes.
size_t StoredWidth(Type type);

inline bool SameElement(const std::byte* a, const std::byte* b, size_t width) {
  if (width == sizeof(uint64_t)) return LoadLittle<uint64_t>(a) == LoadLittle<uint64_t>(b);
  if (width == sizeof(uint32_t)) return LoadLittle<uint32_t>(a) == LoadLittle<uint32_t>(b);
  return std::memcmp(a, b, width) == 0;
}

class KeyedBatch {
 public:
  // No column of `schema` may be a list. Both arguments must outlive this object.
  KeyedBatch(const Schema& schema, SymbolTable* symbols);

  // Stages a batch that CheckBatch accepts, and interns its names. The batch's bytes must stay
  // valid until the next call. kInvalidArgument, with the column, if its bytes do not match its
  // type and rows.
  absl::Status Stage(const BatchView& batch);

  size_t rows() const { return rows_; }
  // Returns the elements of a column, at any alignment; each has the StoredWidth of its type.
  const std::byte* Elements(size_t column) const { return columns_[column].elements; }
  size_t width(size_t column) const { return columns_[column].width; }
  uint64_t hash(size_t row) const { return hashes_[row]; }
  bool SameKey(size_t a, size_t b) const {
    for (size_t column = 0; column < schema_.key_columns; ++column) {
      const auto& [elements, width, ids, floats] = columns_[column];
      if (!SameElement(elements + a * width, elements + b * width, width)) return false;
    }
    return true;
  }

 private:
  struct Staged {
    const std::byte* elements = nullptr;
    size_t width = 0;
    std::vector<SymbolId> ids;      // For a symbol column.
    std::vector<std::byte> floats;  // For a key column of floats.
  };

  absl::Status StageColumn(const ColumnView& view, Staged& column);
  void HashKeys();

  const Schema& schema_;
  SymbolTable* const symbols_;
  size_t rows_ = 0;
  std::vector<Staged> columns_;
  std::vector<uint64_t> hashes_;
};

}  // namespace tickstack
