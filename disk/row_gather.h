#pragma once

// Elements of a column in the order of a partition, out of memory where they lie in order of
// arrival: kdb+ sorts the day for that, we have each symbol's row numbers and gather.
//
// Symbol after symbol, an element is a cache line from somewhere in the column: a line for 8 bytes,
// and a page that no TLB has. So a window of the partition is filled at once, chunk of the column
// after chunk:
//
//   column      | chunk 0         | chunk 1         | ...     each read once for the window, in
//   order
//                  |  |    |  |      |   |   |  |
//   window      |A..  |B....  |C.  |D........  |              each symbol goes on where it was
//
// A chunk of 2 MiB is in a cache when its elements are picked out of it, and what a symbol has of
// them stands together in the window. The larger the window, the fewer the passes: with 8,000
// symbols and 30 million elements of 8 bytes, one costs 7.2 ns symbol after symbol, 4.2 with
// windows of 32 MiB, 3.3 with 64 and 3.0 with 96. A pass costs a quarter of a nanosecond for each
// of the column's elements, so windows that are small beside the column are filled symbol by
// symbol; so are those of symbols that have a row or two in a chunk. Where a symbol's rows had to
// be sorted, each ascending stretch of them is filled separately, and short ones row by row.
//
// Threads: immutable; each thread fills windows of its own. Valid as long as snapshot and order.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "disk/column_elements.h"
#include "disk/row_order.h"
#include "table/table.h"

namespace tickstack {

// Rows of some of a RowOrder's groups, as pieces of its runs.
struct OrderedWindow {
  // A group's rows of the window, or a part of them.
  struct Strand {
    const std::span<const uint32_t>* piece;
    const std::span<const uint32_t>* end_piece;
    size_t to;  // Where in the window they go.
    bool ascends;
  };

  // Rows [begin_row, end_row) of an order that is not in place.
  OrderedWindow(const RowOrder& order, size_t begin_row, size_t end_row);
  OrderedWindow(const OrderedWindow&) = delete;
  OrderedWindow& operator=(const OrderedWindow&) = delete;

  std::vector<std::span<const uint32_t>> pieces;
  std::vector<Strand> strands;

 private:
  struct Part;
  void Split(std::span<const uint32_t> rows, size_t to, std::vector<Part>& parts);
};

// Gathers rows of a column of T (SymbolId for symbols).
template <typename T>
class RowGather {
 public:
  // `order` is not in place.
  RowGather(const Snapshot& snapshot, size_t column, const RowOrder& order)
      : snapshot_(snapshot), column_(column), order_(order), elements_(snapshot, column) {}

  // The elements of the partition's rows from begin_row on, as many as `window` takes.
  void Fill(size_t begin_row, std::span<T> window) const;

 private:
  // The remaining rows of a strand in order of arrival.
  struct Rest {
    const uint32_t* next;
    const uint32_t* end;  // End of the piece.
    T* to;
    const std::span<const uint32_t>* piece;
    const std::span<const uint32_t>* end_piece;
  };

  bool ByChunks(size_t rows, size_t strands) const;
  static void FillFrom(std::span<const T> chunk, size_t begin_row, std::vector<Rest>& rests);

  const Snapshot& snapshot_;
  const size_t column_;
  const RowOrder& order_;
  const ColumnElements<T> elements_;
};

// 16 bytes that are moved and not looked at.
struct GuidBytes {
  uint64_t words[2];
};

extern template class RowGather<uint8_t>;
extern template class RowGather<uint16_t>;
extern template class RowGather<uint32_t>;
extern template class RowGather<uint64_t>;
extern template class RowGather<GuidBytes>;
extern template class RowGather<SymbolId>;

}  // namespace tickstack
