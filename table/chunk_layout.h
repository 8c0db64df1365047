#pragma once

// Computes which chunk of a column holds a row. The first chunks are small, so that 100 rows do not
// take megabytes per column. All later ones are full chunks of the same number of rows, which is a
// whole number of huge pages.
//
//   chunk     0        1        2        3         ...  8           9          10
//   rows from 0        1,024    2,048    4,096     ...  131,072     262,144    524,288
//   rows      1,024    1,024    2,048    4,096     ...  131,072     262,144    262,144
//
// A chunk before the first full one begins at a row that is a power of two, and has as many rows as
// all chunks before it. So the number of a row's chunk is the bit width of row / 1,024, without a
// look-up, and no row ever moves. The small chunks together have the size of one full chunk, so a
// large table takes no more memory than with full chunks only.
//
// The layout of several joined tables has chunks of any sizes, and finds a row's chunk by binary
// search.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tickstack {

// Cheap to copy. All columns of a table have the same layout. If a full chunk has at most 1,024
// rows, all chunks have that size.
class ChunkLayout {
 public:
  struct Chunk {
    size_t number;
    size_t begin_row;
    size_t end_row;
  };

  // `rows_per_chunk` is the number of rows of a full chunk, a power of two.
  explicit constexpr ChunkLayout(size_t rows_per_chunk)
      : ChunkLayout(std::min(Log2(rows_per_chunk), kFirstShift), Log2(rows_per_chunk)) {}
  // Returns a layout with every row in chunk 0, for data without chunks.
  static constexpr ChunkLayout OneChunk() { return {kLargestShift, kLargestShift}; }
  // Returns a layout with chunks of any sizes. `begins` has the first row of each chunk, in
  // ascending order from 0, and finally the total number of rows. It must outlive the layout.
  static constexpr ChunkLayout OfBegins(std::span<const size_t> begins) {
    ChunkLayout layout = OneChunk();
    layout.growing_ = SIZE_MAX;  // Makes all chunks use the look-up.
    layout.begins_ = begins.data();
    layout.begin_count_ = begins.size();
    return layout;
  }

  constexpr size_t NumberOf(size_t row) const {
    if (row >> full_shift_ == 0) {
      if (begins_ != nullptr) return Search(row);
      return static_cast<size_t>(std::bit_width(row >> first_shift_));
    }
    return (row >> full_shift_) + growing_;
  }
  constexpr size_t BeginRow(size_t chunk) const {
    if (chunk > growing_) return (chunk - growing_) << full_shift_;
    if (begins_ != nullptr) return begins_[chunk];
    return chunk == 0 ? 0 : Rows(chunk);
  }
  constexpr size_t Rows(size_t chunk) const {
    if (chunk > growing_) return size_t{1} << full_shift_;
    if (begins_ != nullptr) return begins_[chunk + 1] - begins_[chunk];
    return size_t{1} << (chunk == 0 ? first_shift_ : first_shift_ + chunk - 1);
  }
  constexpr Chunk ChunkOf(size_t row) const {
    const size_t number = NumberOf(row), begin_row = BeginRow(number);
    return {number, begin_row, begin_row + Rows(number)};
  }
  // Returns the number of chunks that hold the first `rows` rows.
  constexpr size_t Chunks(size_t rows) const { return rows == 0 ? 0 : NumberOf(rows - 1) + 1; }

 private:
  static constexpr size_t kFirstShift = 10;
  static constexpr size_t kLargestShift = 63;

  constexpr ChunkLayout(size_t first_shift, size_t full_shift)
      : first_shift_(first_shift), full_shift_(full_shift), growing_(full_shift - first_shift) {}
  static constexpr size_t Log2(size_t power) {
    return static_cast<size_t>(std::countr_zero(power));
  }
  // Rows after the end count as rows of the last chunk.
  constexpr size_t Search(size_t row) const {
    const size_t* const after = std::upper_bound(begins_ + 1, begins_ + begin_count_ - 1, row);
    return static_cast<size_t>(after - begins_) - 1;
  }

  size_t first_shift_;
  size_t full_shift_;
  size_t growing_;                  // Number of doubling chunks, from chunk 1 on.
  const size_t* begins_ = nullptr;  // Set if chunks have any sizes.
  size_t begin_count_ = 0;
};

// Calls f(begin_row, end_row) for the part of rows [begin_row, end_row) in each chunk.
template <typename F>
void EachPart(const ChunkLayout& layout, size_t begin_row, size_t end_row, F f) {
  while (begin_row < end_row) {
    const size_t part_end = std::min(end_row, layout.ChunkOf(begin_row).end_row);
    f(begin_row, part_end);
    begin_row = part_end;
  }
}

}  // namespace tickstack
