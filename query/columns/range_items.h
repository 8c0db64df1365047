#pragma once

// Reads items of a slice whose rows are a range, piece by piece: for kernels that read several
// direct columns side by side, since the chunks of these columns may begin at different rows.

#include <cstddef>
#include <span>

#include "query/columns/any_column.h"
#include "table/chunk_layout.h"

namespace tickstack::query {

// Calls f(elements, offset) for pieces of items [begin, end); `offset` counts from `begin`. T as in
// AnyColumn::Chunk. The caller has verified the rows (AnyColumn::Verify).
template <typename T, typename F>
void EachSpan(const Slice& slice, size_t begin, size_t end, F f) {
  const size_t first_row = slice.rows->begin_row() + begin;
  const ChunkLayout layout = slice.column.layout();
  mem::Medium* const medium = slice.column.medium();
  EachPart(layout, first_row, first_row + (end - begin), [&](size_t row, size_t part_end) {
    const size_t chunk = layout.NumberOf(row);
    mem::MediumAccess access(medium);
    const std::span<const T> elements =
        slice.column.Chunk<T>(chunk).subspan(row - layout.BeginRow(chunk), part_end - row);
    f(elements, row - first_row);
    access.ReadInOrder(elements.data(), elements.size_bytes());
  });
}

}  // namespace tickstack::query
