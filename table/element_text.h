#pragma once

// Formats an element of a fixed-width type, which is given as little-endian bytes. All formats of
// format_value.h use these functions. Threads: any.

#include <cstddef>
#include <span>
#include <string>

#include "table/types.h"
#include "table/value.h"

namespace tickstack {

enum class Finite { kFinite, kNull, kPlus, kMinus };

// Returns whether the element is finite, its type's null, or an infinity. Booleans, bytes and chars
// are always finite.
Finite FiniteOf(Type type, std::span<const std::byte> element);

enum class TimeStyle {
  kQ,    // 2013.10.07D09:30:00.123456789
  kIso,  // 2013-10-07T09:30:00.123456789
};

// Returns the text of a finite element, without type suffix or quotes.
std::string ElementText(Type type, std::span<const std::byte> element, TimeStyle style);

// True if `value` is a vector or list that has an item `i`. This must be checked, because a server
// may send a dictionary whose sides differ in length, or a table with an atom as a column.
inline bool HasItem(const Value& value, size_t i) {
  return (value.is_vector() || value.is_list()) && i < value.count();
}

// Returns element `i` of a fixed-width vector.
inline std::span<const std::byte> ElementAt(const Value& vector, size_t i) {
  const size_t width = WidthOf(vector.type());
  return vector.elements().subspan(i * width, width);
}

}  // namespace tickstack
