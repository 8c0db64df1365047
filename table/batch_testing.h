#pragma once

// Helpers for tests of tables: builds batches as they arrive from the wire, and returns a
// snapshot's columns as vectors.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "table/batch.h"
#include "table/table.h"

namespace tickstack {

// Builds a batch and owns the bytes to which its BatchView points. The bytes of a column start at
// an odd address, as they may in a receive buffer.
class Batch {
 public:
  explicit Batch(size_t rows) : rows_(rows) {}

  template <typename T>
  Batch& Add(Type type, const std::vector<T>& values) {
    return AddBytes(type, AsText(std::as_bytes(std::span(values))));
  }
  Batch& AddSymbols(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += name + '\0';
    return AddBytes(Type::kSymbol, text);
  }
  // Adds a column of type list. Each item is an encoded value, which begins with its type's code.
  Batch& AddItems(const std::vector<std::string>& items) {
    std::string text;
    for (const std::string& item : items) text += item;
    return AddBytes(Type::kList, text);
  }
  Batch& AddBytes(Type type, std::string_view bytes) {
    columns_.push_back({type, "?" + std::string(bytes)});
    return *this;
  }
  BatchView view() {
    views_.clear();
    for (const auto& [type, bytes] : columns_) {
      views_.push_back({type, Attribute::kNone, rows_, AsBytes(bytes).subspan(1)});
    }
    return {views_, rows_};
  }

 private:
  struct Owned {
    Type type;
    std::string bytes;
  };
  size_t rows_;
  std::vector<Owned> columns_;
  std::vector<ColumnView> views_;
};

// Returns all elements of a column. T is the type of an element, as in Snapshot::Chunk.
template <typename T>
std::vector<T> All(const Snapshot& snapshot, size_t column) {
  std::vector<T> all;
  for (size_t c = 0; c < snapshot.chunks(); ++c) {
    const std::span<const T> part = snapshot.Chunk<T>(column, c);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

// Returns the row numbers of a symbol from the index.
inline std::vector<uint32_t> RowNumbers(const Snapshot& snapshot, std::string_view name) {
  std::vector<uint32_t> rows;
  const std::optional<SymbolId> id = snapshot.table().symbols().Find(name);
  if (!id) return rows;
  const Postings postings = *snapshot.RowsOf(*id);
  for (const PostingRun& run : postings.runs) {
    rows.insert(rows.end(), run.rows.begin(), run.rows.end());
  }
  return rows;
}

}  // namespace tickstack
