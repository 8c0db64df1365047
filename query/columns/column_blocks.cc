#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "query/columns/any_column.h"

namespace tickstack::query {
namespace {

// Bytes of elements that are made or gathered at a time, so that they stay in the first-level
// cache.
constexpr size_t kMadeBytes = 8192;
// The most rows between two looks at the clock: a part of a stored table may have millions.
constexpr size_t kBlockRowsMax = size_t{1} << 16;

// Visits a column whose elements are made block by block.
template <typename T>
absl::Status ForEachMadeBlock(const StoredColumn& column, size_t row, size_t end_row,
                              const Budget& budget, absl::FunctionRef<void(const Block<T>&)> f) {
  std::array<T, kMadeBytes / sizeof(T)> made;
  for (size_t blocks = 0; row < end_row; ++blocks) {
    if (blocks % 256 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    const size_t n = std::min(made.size(), end_row - row);
    TS_RETURN_IF_ERROR(column.Read(row, n, made.data()));
    f(Block<T>{std::span<const T>(made.data(), n), nullptr, row});
    row += n;
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status ForEachBlockOfRows(const AnyColumn& column, size_t row, size_t end_row,
                                const Budget& budget, absl::FunctionRef<void(const Block<T>&)> f) {
  if (!column.direct()) return ForEachMadeBlock<T>(*column.stored(), row, end_row, budget, f);
  const ChunkLayout layout = column.layout();
  mem::Medium* const medium = column.medium();
  const size_t begin_row = row;
  while (row < end_row) {
    const ChunkLayout::Chunk chunk = layout.ChunkOf(row);
    const size_t n = std::min({end_row, chunk.end_row, row + kBlockRowsMax}) - row;
    TS_RETURN_IF_ERROR(budget.CheckTime());
    if (row == begin_row || row == chunk.begin_row) column.WillRead(row, end_row);
    TS_RETURN_IF_ERROR(column.Verify(row, row + n));
    mem::MediumAccess access(medium);
    const auto elements = column.Chunk<T>(chunk.number).subspan(row - chunk.begin_row, n);
    f(Block<T>{elements, nullptr, row});
    access.ReadInOrder(elements.data(), elements.size_bytes());
    row += n;
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status ForEachBlockOfRanges(const Slice& slice, size_t begin, size_t end,
                                  const Budget& budget,
                                  absl::FunctionRef<void(const Block<T>&)> f) {
  return slice.rows->EachRange(begin, end, [&](size_t row, size_t end_row, size_t) {
    return ForEachBlockOfRows<T>(slice.column, row, end_row, budget, f);
  });
}

// How many rows ahead a gather fetches: enough to keep the memory busy, few enough that the rows
// are still in the first-level cache when they are read.
constexpr size_t kGatherAhead = 24;

// Copies the elements of ascending rows out of one chunk, which begins at `begin_row`. Prefetches
// the elements of rows[n] to rows[n + ahead - 1] as if they were in the chunk; for one that is not,
// the prefetch is useless but harmless.
template <typename T>
void GatherFromChunk(const T* chunk, size_t begin_row, const uint32_t* rows, size_t n, size_t ahead,
                     T* out) {
  const auto base = reinterpret_cast<uintptr_t>(chunk) - begin_row * sizeof(T);
  const size_t fetched = std::min(n, n + ahead - std::min(n + ahead, kGatherAhead));
  size_t i = 0;
  for (; i < fetched; ++i) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): pointer arithmetic may not leave the chunk.
    __builtin_prefetch(reinterpret_cast<const T*>(base + rows[i + kGatherAhead] * sizeof(T)));
    out[i] = chunk[rows[i] - begin_row];
  }
  for (; i < n; ++i) out[i] = chunk[rows[i] - begin_row];
}

// Gathers scattered rows into a block that stays in the first-level cache, so that every kernel has
// one form, over contiguous elements; the extra pass costs less than a quarter of the gather.
template <typename T>
absl::Status ForEachBlockOfRuns(const Slice& slice, size_t begin, size_t end, const Budget& budget,
                                absl::FunctionRef<void(const Block<T>&)> f) {
  constexpr size_t kGathered = kMadeBytes / sizeof(T);
  std::array<T, kGathered> gathered;
  const ChunkLayout layout = slice.column.layout();
  mem::Medium* const medium = slice.column.medium();
  size_t until_check = 0;
  for (const PostingRun& run : slice.rows->runs()) {
    const size_t run_end = std::min(end, run.rows.size());
    for (size_t done = std::min(begin, run_end); done < run_end;) {
      if (until_check-- == 0) {
        TS_RETURN_IF_ERROR(budget.CheckTime());
        until_check = 256;
      }
      const size_t n = std::min(kGathered, run_end - done);
      const uint32_t* const rows = run.rows.data() + done;
      const bool direct = slice.column.direct();
      if (direct) TS_RETURN_IF_ERROR(slice.column.VerifyAscending({rows, n}));
      mem::MediumAccess access(medium), index_access(run.medium);
      if (!direct) {
        TS_RETURN_IF_ERROR(slice.column.stored()->ReadAt({rows, n}, gathered.data()));
      }
      for (size_t i = direct ? 0 : n; i < n;) {
        const ChunkLayout::Chunk chunk = layout.ChunkOf(rows[i]);
        const auto in_chunk = static_cast<size_t>(
            rows[n - 1] < chunk.end_row
                ? n - i
                : static_cast<size_t>(std::lower_bound(rows + i, rows + n, chunk.end_row) - rows) -
                      i);
        GatherFromChunk(slice.column.Chunk<T>(chunk.number).data(), chunk.begin_row, rows + i,
                        in_chunk, run_end - done - i - in_chunk, gathered.data() + i);
        i += in_chunk;
      }
      index_access.ReadInOrder(rows, n * sizeof(uint32_t));
      access.ReadRows({rows, n}, sizeof(T));
      f(Block<T>{std::span<const T>(gathered.data(), n), rows, 0});
      done += n;
    }
    begin -= std::min(begin, run.rows.size());
    end -= std::min(end, run.rows.size());
    if (end == 0) break;
  }
  return absl::OkStatus();
}

}  // namespace

template <typename T>
absl::Status ForEachBlock(const Slice& slice, size_t begin, size_t end, const Budget& budget,
                          absl::FunctionRef<void(const Block<T>&)> f) {
  if (slice.rows->is_range()) {
    const size_t first_row = slice.rows->begin_row();
    return ForEachBlockOfRows<T>(slice.column, first_row + begin, first_row + end, budget, f);
  }
  if (slice.rows->has_ranges()) return ForEachBlockOfRanges<T>(slice, begin, end, budget, f);
  return ForEachBlockOfRuns<T>(slice, begin, end, budget, f);
}

template absl::Status ForEachBlock(const Slice&, size_t, size_t, const Budget&,
                                   absl::FunctionRef<void(const Block<uint8_t>&)>);
template absl::Status ForEachBlock(const Slice&, size_t, size_t, const Budget&,
                                   absl::FunctionRef<void(const Block<int16_t>&)>);
template absl::Status ForEachBlock(const Slice&, size_t, size_t, const Budget&,
                                   absl::FunctionRef<void(const Block<int32_t>&)>);
template absl::Status ForEachBlock(const Slice&, size_t, size_t, const Budget&,
                                   absl::FunctionRef<void(const Block<int64_t>&)>);
template absl::Status ForEachBlock(const Slice&, size_t, size_t, const Budget&,
                                   absl::FunctionRef<void(const Block<float>&)>);
template absl::Status ForEachBlock(const Slice&, size_t, size_t, const Budget&,
                                   absl::FunctionRef<void(const Block<double>&)>);
template absl::Status ForEachBlock(const Slice&, size_t, size_t, const Budget&,
                                   absl::FunctionRef<void(const Block<Guid>&)>);

}  // namespace tickstack::query
