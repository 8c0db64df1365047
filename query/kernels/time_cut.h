#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "query/columns/any_column.h"

namespace tickstack::query {

// A range of rows. The times of all rows outside of it are outside of the interval.
struct TimeCut {
  size_t begin_row = 0;
  size_t end_row = 0;
  bool exact = true;  // True if the times of all its rows are in the interval.
};

// Returns the rows of [begin_row, end_row) that may have a time in [first_ns, last_ns], by the time
// bounds of the table's chunks: chunks outside of the interval are not read, and ascending chunks
// are searched by bisection. nullopt unless `column` is the time column of a captured table. Cost:
// a few ns per chunk, and two searches in the chunks that contain the bounds.
std::optional<TimeCut> CutByTime(const AnyColumn& column, size_t begin_row, size_t end_row,
                                 int64_t first_ns, int64_t last_ns);

}  // namespace tickstack::query
