#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "table/schema.h"
#include "table/table.h"

namespace tickstack::cli {

// Number of symbols that MeasureTableBytes uses, as many as a simulated day has by default. Their
// frequencies follow Zipf's law.
inline constexpr size_t kDaySymbols = 8000;

struct TableBytes {
  std::vector<size_t> columns;  // As in Table::column_bytes.
  size_t index = 0;             // 0 if the table has no index.
};

// Returns the bytes that a table of `rows` rows takes in an RDB, found by filling one in DRAM in
// chunks of `rows_per_chunk`. The size of an index depends on the symbols; those of a simulated day
// are used. String columns are filled with empty strings. Each row of a keyed table has its own
// key.
//
// Cost: as many bytes of memory as the result says, and 50 ns per row.
absl::StatusOr<TableBytes> MeasureTableBytes(const Schema& schema, size_t rows,
                                             size_t rows_per_chunk = TableOptions().rows_per_chunk);

}  // namespace tickstack::cli
