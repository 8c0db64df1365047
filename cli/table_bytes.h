#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"
#include "table/table.h"

namespace tickstack {

// Symbols of the simulated and of the measured day, and how often each comes: Zipf.
inline constexpr size_t kDaySymbols = 8000;

struct TableBytes {
  std::vector<size_t> columns;  // As Table::column_bytes.
  size_t index = 0;             // 0: the table has none.
};

// What a table of so many rows, in chunks of `rows_per_chunk`, takes, found by filling one in DRAM,
// so that it is what an RDB with these rows takes. An index depends on which symbols the rows have:
// here a day's. Columns of strings are without their texts: empty ones. Each row of a keyed table
// has a key of its own.
//
// Cost: the memory that it answers, and 50 ns a row.
absl::StatusOr<TableBytes> MeasureTableBytes(const Schema& schema, size_t rows,
                                             size_t rows_per_chunk = TableOptions().rows_per_chunk);

}  // namespace tickstack
