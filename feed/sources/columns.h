#pragma once

// Builds the `x` of an upd column by column: a list of vectors as on the wire, or of atoms for a
// single row. kdb+ feeds send one row in the same way, which saves 5 bytes per column.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"
#include "table/types.h"

namespace tickstack::feed {

// Collects rows one value at a time, for sources that read rows. Reused: Clear() keeps the memory.
// For each row, the caller appends one value to each column, of the column's type, and calls
// EndRow.
class ColumnList {
 public:
  explicit ColumnList(std::span<const Type> types) : types_(types.begin(), types.end()) {
    columns_.resize(types_.size());
  }

  template <typename T>
  void Append(size_t column, T value) {
    columns_[column].AppendLittle(value);
  }
  void AppendSymbol(size_t column, std::string_view name) {
    columns_[column].Append(name);
    columns_[column].AppendLittle(uint8_t{0});
  }
  // Appends a string to a column of type kList.
  void AppendText(size_t column, std::string_view text);
  void EndRow() { ++rows_; }
  Type type(size_t column) const { return types_[column]; }
  int64_t rows() const { return rows_; }
  void Clear();

  // Appends the rows to `out` as the x of an upd.
  void Encode(ByteBuffer& out) const;

 private:
  std::vector<Type> types_;
  std::vector<ByteBuffer> columns_;
  int64_t rows_ = 0;
};

}  // namespace tickstack::feed
