#pragma once

// Accesses the elements of a snapshot's column by row number, in any order.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "mem/medium.h"
#include "table/table.h"

namespace tickstack::disk {

// The elements of a column of T (SymbolId for symbols). Valid while the snapshot exists. Threads:
// any.
template <typename T>
class ColumnElements {
 public:
  ColumnElements(const Snapshot& snapshot, size_t column)
      : layout_(snapshot.layout()), medium_(snapshot.MediumOf(column)) {
    for (size_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      // The address that row 0 would have if all rows were contiguous. It is an integer and not a
      // pointer, since nothing is there.
      origin_.push_back(reinterpret_cast<uintptr_t>(snapshot.Chunk<T>(column, chunk).data()) -
                        layout_.BeginRow(chunk) * sizeof(T));
    }
  }

  const T* At(size_t row) const {
    return reinterpret_cast<const T*>(origin_[layout_.NumberOf(row)] + row * sizeof(T));
  }

  // Copies the elements of these rows to `out`. It prefetches, because the rows of a symbol are far
  // apart and each element would otherwise be a cache miss.
  void Gather(std::span<const uint32_t> rows, T* out) const {
    constexpr size_t kAhead = 24;
    mem::MediumAccess access(medium_);
    size_t i = 0;
    for (; i + kAhead < rows.size(); ++i) {
      __builtin_prefetch(At(rows[i + kAhead]));
      out[i] = *At(rows[i]);
    }
    for (; i < rows.size(); ++i) out[i] = *At(rows[i]);
    access.ReadRows(rows, sizeof(T));
  }

 private:
  const ChunkLayout layout_;
  mem::Medium* const medium_;
  std::vector<uintptr_t> origin_;
};

}  // namespace tickstack::disk
