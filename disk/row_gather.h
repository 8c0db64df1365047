#pragma once

// Copies the elements of a column from their order of arrival in memory to the order of a
// partition. kdb+ sorts the day for this. Here the index has each symbol's row numbers, so the
// elements are gathered by them.
//
// If elements were gathered symbol by symbol, nearly each of them would cost a cache miss and a TLB
// miss for its 8 bytes. Therefore a window of the partition is filled from one chunk of the column
// after the other:
//
//   column   | chunk 0         | chunk 1         | ...     each is read once per window, in order
//               |  |    |  |      |   |   |  |
//   window   |A..  |B....  |C.  |D........  |              each symbol continues where it was
//
// A chunk of 2 MiB stays in a cache while its elements are picked, and a symbol's elements are
// adjacent in the window. Larger windows need fewer passes: with 8,000 symbols and 30 million
// elements of 8 bytes, an element costs 7.2 ns symbol by symbol, 4.2 with windows of 32 MiB, 3.3
// with 64 and 3.0 with 96. A pass costs a quarter of a nanosecond for each of the column's
// elements, so a window that is small compared with the column is filled symbol by symbol, and so
// is a window of symbols with one or two rows per chunk. If a symbol's rows had to be sorted, each
// ascending part of them is filled separately, and short parts row by row.
//
// Threads: immutable; each thread fills its own windows. Valid while the snapshot and the order
// exist.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "disk/column_elements.h"
#include "disk/row_order.h"
#include "table/table.h"

namespace tickstack::disk {

// The rows of a window, as pieces of the runs of a RowOrder.
struct OrderedWindow {
  // The rows of one group in the window, or a part of these rows.
  struct Strand {
    const std::span<const uint32_t>* piece;
    const std::span<const uint32_t>* end_piece;
    size_t to;  // Place of the first row in the window.
    bool ascends;
  };

  // Takes rows [begin_row, end_row) of the order, which must not be in place.
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
  // The order must not be in place. The snapshot and the order must outlive this object.
  RowGather(const Snapshot& snapshot, size_t column, const RowOrder& order)
      : snapshot_(snapshot), column_(column), order_(order), elements_(snapshot, column) {}

  // Fills `window` with the elements of the partition's rows from `begin_row` on.
  void Fill(size_t begin_row, std::span<T> window) const;

 private:
  // The rows of a strand that have not been copied yet.
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

// 16 bytes that are moved without being interpreted.
struct GuidBytes {
  uint64_t words[2];
};

extern template class RowGather<uint8_t>;
extern template class RowGather<uint16_t>;
extern template class RowGather<uint32_t>;
extern template class RowGather<uint64_t>;
extern template class RowGather<GuidBytes>;
extern template class RowGather<SymbolId>;

}  // namespace tickstack::disk
