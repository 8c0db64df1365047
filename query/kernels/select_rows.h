#pragma once

// Returns the rows of a slice whose element passes a test. All threads help, each with other parts
// of the slice. For each part, a vectorized loop computes a flag per element, and a second loop
// writes the numbers of the flagged rows. If the test is an interval and the elements are
// contiguous, one kernel does both.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "query/columns/any_column.h"
#include "query/columns/parallel.h"
#include "query/columns/rows.h"
#include "query/kernels/number_kernels.h"

namespace tickstack::query {

namespace internal {

inline constexpr size_t kSelectPart = 4096;

// Writes the numbers of the flagged rows to `kept` and returns how many there are. It has no
// branch: each number is written, and the next one overwrites it unless its flag is set.
template <typename T>
size_t Compact(const Block<T>& block, size_t begin, std::span<const uint8_t> flags,
               uint32_t* kept) {
  size_t count = 0;
  if (block.rows == nullptr) {
    const auto first = static_cast<uint32_t>(block.first_row + begin);
    for (uint32_t i = 0; i < flags.size(); ++i) {
      kept[count] = first + i;
      count += flags[i];
    }
  } else {
    for (size_t i = 0; i < flags.size(); ++i) {
      kept[count] = block.rows[begin + i];
      count += flags[i];
    }
  }
  return count;
}

template <typename T, typename Passes>
void SelectFrom(const Block<T>& block, const Passes& passes, RowSetBuilder& kept) {
  std::array<uint8_t, kSelectPart> flags;
  std::array<uint32_t, kSelectPart> rows;
  for (size_t begin = 0; begin < block.elements.size(); begin += kSelectPart) {
    const std::span<const T> part =
        block.elements.subspan(begin, std::min(kSelectPart, block.elements.size() - begin));
    for (size_t i = 0; i < part.size(); ++i) flags[i] = passes(part[i]);
    const size_t count = Compact(block, begin, std::span(flags).first(part.size()), rows.data());
    kept.Append(std::span<const uint32_t>(rows).first(count));
  }
}

// If the elements are contiguous, one kernel finds the row numbers.
template <typename T>
void SelectFrom(const Block<T>& block, const Interval<T>& interval, RowSetBuilder& kept) {
  std::array<uint32_t, kSelectPart + kSelectSlack> rows;
  if (block.rows != nullptr) {
    const auto passes = [local = interval](T element) { return local.Contains(element); };
    return SelectFrom(block, passes, kept);
  }
  const auto select = Kernels<T>().select;
  for (size_t begin = 0; begin < block.elements.size(); begin += kSelectPart) {
    const size_t n = std::min(kSelectPart, block.elements.size() - begin);
    const size_t count = select(block.elements.data() + begin, n, interval,
                                static_cast<uint32_t>(block.first_row + begin), rows.data());
    kept.Append(std::span<const uint32_t>(rows).first(count));
  }
}

}  // namespace internal

// `passes` is the test: an Interval<T>, or a function of an element, which is called concurrently
// on several threads.
template <typename T, typename Passes>
absl::StatusOr<RowSet> SelectRows(const Slice& slice, Budget& budget, Passes passes) {
  constexpr size_t kRowsPerTask = size_t{1} << 18;
  std::vector<RowSetBuilder> kept((slice.count() + kRowsPerTask - 1) / kRowsPerTask);
  TS_RETURN_IF_ERROR(
      ParallelRanges(budget, slice.count(), kRowsPerTask, [&](size_t begin, size_t end) {
        return ForEachBlock<T>(slice, begin, end, budget, [&](const Block<T>& block) {
          internal::SelectFrom(block, passes, kept[begin / kRowsPerTask]);
        });
      }));
  RowSet rows = RowSetBuilder::Join(std::move(kept));
  TS_RETURN_IF_ERROR(budget.Charge(rows.count(), sizeof(uint32_t)));
  return rows;
}

}  // namespace tickstack::query
