#pragma once

// The rows of several tables, one table after the other, with the functions of a Snapshot. Chunks
// and rows, also those from the tables' indexes, are numbered consecutively across all tables.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "table/chunk_layout.h"
#include "table/chunk_times.h"
#include "table/symbol_index.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack {

// Immutable; any thread.
class JoinedSnapshots {
 public:
  // The parts must meet the conditions of Snapshot::Join, and each must have rows.
  explicit JoinedSnapshots(std::vector<Snapshot> parts);
  JoinedSnapshots(const JoinedSnapshots&) = delete;
  JoinedSnapshots& operator=(const JoinedSnapshots&) = delete;

  size_t rows() const { return begins_.back(); }
  const ChunkLayout& layout() const { return layout_; }
  std::span<const std::byte> ChunkBytes(size_t column, size_t chunk) const;
  std::optional<TimeBounds> TimesOf(size_t column, size_t chunk) const;
  std::span<const std::byte> Item(size_t column, size_t row) const;
  // Both functions require that the parts have an index.
  Postings RowsOf(SymbolId symbol) const;
  PostingEnds EndsOf(SymbolId symbol) const;

 private:
  struct Place {
    uint32_t part;
    uint32_t chunk;  // Index within that part.
  };
  size_t BeginOf(size_t part) const { return part_begins_[part]; }

  std::vector<Snapshot> parts_;
  std::vector<size_t> part_begins_;  // The first row of each part.
  std::vector<Place> places_;        // By number of the chunk.
  std::vector<size_t> begins_;       // First rows, for ChunkLayout::OfBegins.
  ChunkLayout layout_ = ChunkLayout::OneChunk();
};

}  // namespace tickstack
