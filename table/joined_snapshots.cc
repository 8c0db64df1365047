#include "table/joined_snapshots.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "mem/medium.h"

namespace tickstack {

JoinedSnapshots::JoinedSnapshots(std::vector<Snapshot> parts) : parts_(std::move(parts)) {
  size_t rows = 0;
  for (uint32_t part = 0; part < parts_.size(); ++part) {
    const Snapshot& snapshot = parts_[part];
    const Snapshot& first = parts_.front();
    TS_CHECK(snapshot.rows() > 0 && snapshot.schema().columns == first.schema().columns);
    TS_CHECK(&snapshot.table().symbols() == &first.table().symbols());
    TS_CHECK(snapshot.table().indexed_column() == first.table().indexed_column());
    part_begins_.push_back(rows);
    for (uint32_t chunk = 0; chunk < snapshot.chunks(); ++chunk) {
      places_.push_back({part, chunk});
      begins_.push_back(rows + snapshot.layout().BeginRow(chunk));
    }
    rows += snapshot.rows();
  }
  begins_.push_back(rows);
  layout_ = ChunkLayout::OfBegins(begins_);
}

std::span<const std::byte> JoinedSnapshots::ChunkBytes(size_t column, size_t chunk) const {
  const Place place = places_[chunk];
  return parts_[place.part].ChunkBytes(column, place.chunk);
}

std::optional<TimeBounds> JoinedSnapshots::TimesOf(size_t column, size_t chunk) const {
  const Place place = places_[chunk];
  return parts_[place.part].TimesOf(column, place.chunk);
}

std::span<const std::byte> JoinedSnapshots::Item(size_t column, size_t row) const {
  const uint32_t part = places_[layout_.NumberOf(row)].part;
  return parts_[part].Item(column, row - BeginOf(part));
}

Postings JoinedSnapshots::RowsOf(SymbolId symbol) const {
  Postings all;
  const auto moved = std::make_shared<std::vector<std::vector<uint32_t>>>();
  for (size_t part = 0; part < parts_.size(); ++part) {
    const std::optional<Postings> found = parts_[part].RowsOf(symbol);
    TS_CHECK(found.has_value());
    for (const PostingRun& run : found->runs) {
      std::span<const uint32_t> rows = run.rows;
      mem::Medium* medium = run.medium;
      if (part > 0) {
        // The copy is in real memory, so reading it is not charged.
        mem::MediumAccess access(std::exchange(medium, nullptr));
        const auto begin_row = static_cast<uint32_t>(BeginOf(part));
        std::vector<uint32_t>& copy = moved->emplace_back(rows.begin(), rows.end());
        for (uint32_t& row : copy) row += begin_row;
        access.ReadInOrder(run.rows.data(), run.rows.size_bytes());
        rows = copy;
      }
      // Leaves out coarse times, because each part has its own clock.
      all.runs.push_back({rows, {}, medium});
    }
    all.rows += found->rows;
  }
  all.time_sorted = false;
  all.owner = moved;
  return all;
}

PostingEnds JoinedSnapshots::EndsOf(SymbolId symbol) const {
  PostingEnds all;
  for (size_t part = 0; part < parts_.size(); ++part) {
    const std::optional<PostingEnds> found = parts_[part].EndsOf(symbol);
    TS_CHECK(found.has_value());
    if (found->rows == 0) continue;
    const auto begin_row = static_cast<uint32_t>(BeginOf(part));
    if (all.rows == 0) all.first_row = begin_row + found->first_row;
    all.last_row = begin_row + found->last_row;
    all.rows += found->rows;
  }
  return all;
}

}  // namespace tickstack
