#pragma once

#include <optional>

#include "table/batch.h"

namespace tickstack {

// Returns the column without its first `rows` rows; nullopt if its bytes hold fewer rows. Cost:
// O(1) for fixed widths, else a pass over the dropped rows.
std::optional<ColumnView> DropRows(const ColumnView& column, size_t rows);

}  // namespace tickstack
