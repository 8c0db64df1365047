#pragma once

#include <cstdint>

#include "base/scratch.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the positions of a vector's or list's items in the ascending order of CompareItems (nulls
// first, names by byte) or CompareValues; equal items keep their order.
//
// Cost: a counting sort for each byte in which items differ, about 2 ns per item and byte. Names
//       are sorted by their first 8 bytes in this way, and compared only if those are equal. Guids
//       and the items of a list are compared.
ScratchVector<uint32_t> AscendingOrder(const Value& vector);

}  // namespace tickstack::query
