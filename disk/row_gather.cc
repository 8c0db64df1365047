#include "disk/row_gather.h"

#include <algorithm>

#include "mem/medium.h"

namespace tickstack::disk {
namespace {

// From this many passes over a column on, gathering symbol by symbol is cheaper.
constexpr size_t kPassesMax = 16;
// With fewer elements of a symbol per chunk, searching for them costs more than it saves.
constexpr size_t kElementsMin = 8;
// Least average length of an ascending range to be filled separately.
constexpr size_t kStretchMin = 32;

// Reads the memory from front to back, before elements are picked from it.
void Touch(const std::byte* memory, size_t bytes) {
  constexpr size_t kLineBytes = 64, kAheadBytes = 512;
  uint8_t sum = 0;
  for (size_t at = 0; at < bytes; at += kLineBytes) {
    __builtin_prefetch(memory + at + kAheadBytes);
    sum = static_cast<uint8_t>(sum + std::to_integer<uint8_t>(memory[at]));
  }
  asm volatile("" : : "r"(sum));  // The loads matter, not the sum.
}

}  // namespace

// A strand while its pieces are still being found.
struct OrderedWindow::Part {
  size_t first_piece;
  size_t to;
  bool ascends;
};

// Splits rows that were sorted: one part for each ascending range, or a single part if these are
// short.
void OrderedWindow::Split(std::span<const uint32_t> rows, size_t to, std::vector<Part>& parts) {
  size_t stretches = 1;
  for (size_t i = 1; i < rows.size(); ++i) stretches += rows[i] < rows[i - 1] ? 1 : 0;
  const bool ascends = rows.size() >= stretches * kStretchMin;
  while (!rows.empty()) {
    size_t end = ascends ? 1 : rows.size();
    while (end < rows.size() && rows[end - 1] < rows[end]) ++end;
    parts.push_back({pieces.size(), to, ascends});
    pieces.push_back(rows.first(end));
    to += end;
    rows = rows.subspan(end);
  }
}

OrderedWindow::OrderedWindow(const RowOrder& order, size_t begin_row, size_t end_row) {
  const std::span<const std::span<const uint32_t>> runs = order.runs();
  const std::span<const RowOrder::Group> groups = order.groups();
  std::vector<Part> parts;
  const auto take = [&](size_t run, size_t end_run, size_t row, bool in_arrival) {
    if (in_arrival) parts.push_back({pieces.size(), std::max(row, begin_row) - begin_row, true});
    for (; run < end_run && row < end_row; row += runs[run++].size()) {
      const size_t size = runs[run].size();
      const size_t skip = begin_row > row ? std::min(begin_row - row, size) : 0;
      const size_t stop = std::min(size, end_row - row);
      if (skip >= stop) continue;
      const std::span<const uint32_t> rows = runs[run].subspan(skip, stop - skip);
      if (in_arrival) {
        pieces.push_back(rows);
      } else {
        Split(rows, row + skip - begin_row, parts);
      }
    }
  };
  if (groups.empty()) take(0, runs.size(), 0, false);
  // The first group that ends after begin_row; the first group begins at 0.
  const auto after = std::ranges::upper_bound(groups, begin_row, {}, &RowOrder::Group::begin_row);
  for (auto i = static_cast<size_t>(after - groups.begin()); i <= groups.size() && i > 0; ++i) {
    const RowOrder::Group& group = groups[i - 1];
    if (group.begin_row >= end_row) break;
    take(group.first_run, i < groups.size() ? groups[i].first_run : runs.size(), group.begin_row,
         group.in_arrival);
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t end = i + 1 < parts.size() ? parts[i + 1].first_piece : pieces.size();
    if (parts[i].first_piece == end) continue;
    strands.push_back(
        {pieces.data() + parts[i].first_piece, pieces.data() + end, parts[i].to, parts[i].ascends});
  }
}

template <typename T>
bool RowGather<T>::ByChunks(size_t rows, size_t strands) const {
  return rows * kPassesMax >= snapshot_.rows() &&
         rows >= strands * snapshot_.chunks() * kElementsMin;
}

// `chunk` begins at row begin_row.
template <typename T>
void RowGather<T>::FillFrom(std::span<const T> chunk, size_t begin_row, std::vector<Rest>& rests) {
  const T* const elements = chunk.data();
  const size_t end_row = begin_row + chunk.size();
  for (Rest& rest : rests) {
    const uint32_t* next = rest.next;
    T* to = rest.to;
    while (true) {
      const uint32_t* const end = rest.end;
      while (next < end && *next < end_row) *to++ = elements[*next++ - begin_row];
      if (next < end || rest.piece == rest.end_piece || ++rest.piece == rest.end_piece) break;
      next = rest.piece->data();
      rest.end = next + rest.piece->size();
    }
    rest.next = next;
    rest.to = to;
  }
}

template <typename T>
void RowGather<T>::Fill(size_t begin_row, std::span<T> window) const {
  const OrderedWindow rows(order_, begin_row, begin_row + window.size());
  const bool by_chunks = ByChunks(window.size(), rows.strands.size());
  std::vector<Rest> rests;
  for (const OrderedWindow::Strand& strand : rows.strands) {
    T* to = window.data() + strand.to;
    if (by_chunks && strand.ascends) {
      const uint32_t* const first = strand.piece->data();
      rests.push_back({first, first + strand.piece->size(), to, strand.piece, strand.end_piece});
      continue;
    }
    for (const auto* piece = strand.piece; piece != strand.end_piece; to += piece++->size()) {
      elements_.Gather(*piece, to);
    }
  }
  if (rests.empty()) return;
  for (size_t chunk = 0; chunk < snapshot_.chunks(); ++chunk) {
    const std::span<const T> elements = snapshot_.Chunk<T>(column_, chunk);
    mem::MediumAccess access(snapshot_.MediumOf(column_));
    Touch(reinterpret_cast<const std::byte*>(elements.data()), elements.size_bytes());
    FillFrom(elements, snapshot_.layout().BeginRow(chunk), rests);
    access.ReadInOrder(elements.data(), elements.size_bytes());
  }
}

template class RowGather<uint8_t>;
template class RowGather<uint16_t>;
template class RowGather<uint32_t>;
template class RowGather<uint64_t>;
template class RowGather<GuidBytes>;
template class RowGather<SymbolId>;

}  // namespace tickstack::disk
