#include "query/kernels/time_cut.h"

#include <algorithm>

namespace tickstack::query {
namespace {

// Returns the cut within the rows [begin_row, end_row) of one chunk.
TimeCut CutOfChunk(const AnyColumn& column, const ChunkLayout::Chunk& chunk,
                   const TimeBounds& bounds, size_t begin_row, size_t end_row, int64_t first_ns,
                   int64_t last_ns) {
  if (bounds.max_ns < first_ns || bounds.min_ns > last_ns) return {begin_row, begin_row, true};
  if (bounds.min_ns >= first_ns && bounds.max_ns <= last_ns) return {begin_row, end_row, true};
  if (!bounds.ascends) return {begin_row, end_row, false};
  const std::span<const int64_t> times =
      column.Chunk<int64_t>(chunk.number).subspan(begin_row - chunk.begin_row, end_row - begin_row);
  mem::MediumAccess access(column.medium());
  const auto begin = std::ranges::lower_bound(times, first_ns);
  access.Searched(times.size_bytes());
  mem::MediumAccess rest(column.medium());
  const auto end = std::ranges::upper_bound(begin, times.end(), last_ns);
  rest.Searched(static_cast<size_t>(times.end() - begin) * sizeof(int64_t));
  return {begin_row + static_cast<size_t>(begin - times.begin()),
          begin_row + static_cast<size_t>(end - times.begin()), true};
}

}  // namespace

std::optional<TimeCut> CutByTime(const AnyColumn& column, size_t begin_row, size_t end_row,
                                 int64_t first_ns, int64_t last_ns) {
  if (!column.captured()) return std::nullopt;
  const ChunkLayout layout = column.layout();
  TimeCut cut;
  while (begin_row < end_row) {
    const ChunkLayout::Chunk chunk = layout.ChunkOf(begin_row);
    const std::optional<TimeBounds> bounds =
        column.snapshot().TimesOf(column.index(), chunk.number);
    if (!bounds.has_value()) return std::nullopt;
    const size_t part_end = std::min(end_row, chunk.end_row);
    const TimeCut part = CutOfChunk(column, chunk, *bounds, begin_row, part_end, first_ns, last_ns);
    begin_row = part_end;
    if (part.begin_row == part.end_row) continue;
    if (cut.begin_row == cut.end_row) {
      cut = part;
      continue;
    }
    // If there are rows between the two parts, the cut is not exact.
    cut.exact = cut.exact && part.exact && cut.end_row == part.begin_row;
    cut.end_row = part.end_row;
  }
  return cut;
}

}  // namespace tickstack::query
