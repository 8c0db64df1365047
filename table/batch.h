#pragma once

// A batch: rows of one table that are passed together, by column, as spans over bytes of another
// owner (a receive buffer, a mapped log). Nothing is copied or decoded until a column stores its
// bytes.

#include <cstddef>
#include <cstdint>
#include <span>

#include "table/types.h"

namespace tickstack {

// One column of a batch. `data` has its elements as on the wire, little-endian:
//   fixed width   rows * WidthOf(type) raw elements, at any alignment
//   kSymbol       rows NUL-terminated names, back to back
//   kList         rows encoded values (type byte first), back to back; strings are kChar vectors
// Code that creates a view must have checked that `data` has exactly `rows` elements.
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
