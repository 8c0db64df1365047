#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "query/columns/any_column.h"

namespace tickstack::query {

// A range of rows that has all rows whose time is in an interval.
struct TimeCut {
  size_t begin_row = 0;
  size_t end_row = 0;
  bool exact = true;  // True if the times of all rows of the range are in the interval.
};

// Returns the rows of [begin_row, end_row) that may have a time in [first_ns, last_ns]. The table
// knows the earliest and latest time of each chunk: chunks outside of the interval are not read,
// and chunks whose times ascend are searched by bisection. nullopt unless `column` is the time
// column of a captured table. Cost: a few ns per chunk, and two searches in the chunks with the
// bounds of the interval.
std::optional<TimeCut> CutByTime(const AnyColumn& column, size_t begin_row, size_t end_row,
                                 int64_t first_ns, int64_t last_ns);

}  // namespace tickstack::query
