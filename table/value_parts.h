#pragma once

// The layout of a value in a message. Encode(), EncodedBytes() and MessageStream all follow it, so
// that they cannot disagree.
//
//   | head, at most six bytes | raw bytes that the value holds as they are | NUL? | children ... |
//     type, attribute, count    a vector's elements, a name, a text                 the same again

#include <array>
#include <cstddef>
#include <span>

#include "table/value.h"

namespace tickstack {

struct ValueParts {
  std::array<std::byte, 6> head;
  size_t head_bytes = 0;
  std::span<const std::byte> raw;  // Valid as long as the value.
  bool ends_with_nul = false;
  size_t children = 0;  // A list's items, or a pair's keys and values.

  // Returns the value's encoded size without its children, in bytes.
  size_t bytes() const { return head_bytes + raw.size() + (ends_with_nul ? 1 : 0); }
  std::span<const std::byte> head_span() const { return std::span(head).first(head_bytes); }
};

// Returns the parts of a value. A vector or list of more than kCountMax elements fails a TS_CHECK.
// Cost: O(1).
ValueParts PartsOf(const Value& value);
const Value& ChildOf(const Value& value, size_t i);

}  // namespace tickstack
