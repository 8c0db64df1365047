#pragma once

#include <optional>

#include "table/batch.h"

namespace tickstack {

// The column without its first `rows` rows; nullopt if its bytes do not hold that many. Cost: O(1)
// for fixed widths, else a pass over what is dropped.
std::optional<ColumnView> DropRows(const ColumnView& column, size_t rows);

}  // namespace tickstack
