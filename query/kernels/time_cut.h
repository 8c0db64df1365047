#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "query/columns/column.h"

namespace tickstack::query {

// Rows outside of which no time is in an interval.
struct TimeCut {
  size_t begin_row = 0;
  size_t end_row = 0;
  bool exact = true;  // All of them are inside.
};

// Which rows of [begin_row, end_row) may have a time in [first_ns, last_ns], by what the table
// knows of its chunks: a chunk beyond a bound is left out unread, one that ascends is searched by
// halving. nullopt: `column` is not its table's time.
// Cost: a few ns a chunk, two searches in the chunks where the bounds lie.
std::optional<TimeCut> CutByTime(const Column& column, size_t begin_row, size_t end_row,
                                 int64_t first_ns, int64_t last_ns);

}  // namespace tickstack::query
