#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "table/types.h"

namespace tickstack::tickerplant {

// Returns where each of `rows` items of a column ends. `type` is one whose items differ in width:
// symbols or encoded values. The bytes must have been checked: they have exactly `rows` items.
// Cost: O(bytes).
std::vector<size_t> EndsOf(Type type, std::span<const std::byte> bytes, size_t rows);

}  // namespace tickstack::tickerplant
