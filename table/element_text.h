#pragma once

// One element of a fixed-width type, given as its little-endian bytes, as text: what the formats of
// format_value.h share. Threads: any.

#include <cstddef>
#include <span>
#include <string>

#include "table/types.h"
#include "table/value.h"

namespace tickstack {

enum class Finite { kFinite, kNull, kPlus, kMinus };

// Whether it is its type's null or an infinity. Booleans, bytes and chars are always finite.
Finite FiniteOf(Type type, std::span<const std::byte> element);

enum class TimeStyle {
  kQ,    // 2013.10.07D09:30:00.123456789
  kIso,  // 2013-10-07T09:30:00.123456789
};

// A finite element without type suffix or quotes.
std::string ElementText(Type type, std::span<const std::byte> element, TimeStyle style);

// Whether it is a vector or list that has an item `i`. A server may send a dictionary whose sides
// differ in length, or a table with an atom for a column.
inline bool HasItem(const Value& value, size_t i) {
  return (value.is_vector() || value.is_list()) && i < value.count();
}

// Element `i` of a fixed-width vector.
inline std::span<const std::byte> ElementAt(const Value& vector, size_t i) {
  const size_t width = WidthOf(vector.type());
  return vector.elements().subspan(i * width, width);
}

}  // namespace tickstack
