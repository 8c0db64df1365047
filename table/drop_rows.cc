#include "table/drop_rows.h"

#include <cstring>

#include "table/encoded.h"

namespace tickstack {

std::optional<ColumnView> DropRows(const ColumnView& column, size_t rows) {
  if (rows > column.rows) return std::nullopt;
  ColumnView rest = column;
  rest.rows = column.rows - rows;
  if (IsFixedWidth(column.type)) {
    const size_t width = WidthOf(column.type);
    if (rows > column.data.size() / width) return std::nullopt;
    rest.data = column.data.subspan(rows * width);
    return rest;
  }
  for (size_t i = 0; i < rows; ++i) {
    std::optional<size_t> bytes;
    if (column.type == Type::kSymbol) {
      const void* const nul =
          rest.data.empty() ? nullptr : std::memchr(rest.data.data(), 0, rest.data.size());
      if (nul != nullptr) {
        bytes = static_cast<size_t>(static_cast<const std::byte*>(nul) - rest.data.data()) + 1;
      }
    } else {
      bytes = EncodedBytes(rest.data);
    }
    if (!bytes) return std::nullopt;
    rest.data = rest.data.subspan(*bytes);
  }
  return rest;
}

}  // namespace tickstack
