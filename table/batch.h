#pragma once

// A batch: rows of one table that travel together, by column, as spans over bytes that somebody
// else owns (a receive buffer, a mapped log). Nothing is copied or decoded until a column takes its
// bytes.

#include <cstddef>
#include <cstdint>
#include <span>

#include "table/types.h"

namespace tickstack {

// One column of a batch. `data` is what the wire carries, little-endian:
//   fixed width   rows * WidthOf(type) raw elements, at any alignment
//   kSymbol       rows NUL-terminated names, back to back
//   kList         rows encoded values (type byte first), back to back; strings are kChar vectors
// The bytes were checked by whoever made the view: exactly `rows` elements, and no more.
struct ColumnView {
  Type type = Type::kList;
  Attribute attribute = Attribute::kNone;
  size_t rows = 0;
  std::span<const std::byte> data;
};

struct BatchView {
  std::span<const ColumnView> columns;
  size_t rows = 0;
};

}  // namespace tickstack
