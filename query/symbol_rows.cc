#include "query/symbol_rows.h"

#include <algorithm>
#include <bit>

#include "query/parallel.h"

namespace tickstack::query {

void SymbolRows::Add(SymbolId id, RowSet rows) {
  if (rows.count() == 0) return;
  ids_.push_back(id);
  rows_.push_back(std::make_shared<const RowSet>(std::move(rows)));
}

absl::StatusOr<SymbolRows> SymbolRows::Of(const Column& key, std::span<const SymbolId> ids) {
  SymbolRows found(key);
  std::vector<RowRange> ranges;
  for (SymbolId id : ids) {
    if (key.stored() != nullptr) {
      ranges.clear();
      TS_RETURN_IF_ERROR(key.stored()->RangesOf(id, ranges));
      found.Add(id, RowSet::OfRanges(ranges));
    } else if (const std::optional<Postings> postings = key.snapshot().RowsOf(id)) {
      found.Add(id, RowSet::OfPostings(*postings));
    }
  }
  return found;
}

absl::StatusOr<SymbolRows> SymbolRows::All(const Column& key, Budget& budget) {
  struct Range {
    SymbolId id;
    RowRange rows;
  };
  std::vector<Range> all;
  TS_RETURN_IF_ERROR(
      key.stored()->ForEachRange([&](SymbolId id, RowRange rows) { all.push_back({id, rows}); }));
  TS_RETURN_IF_ERROR(budget.Charge(all.size(), sizeof(Range) + sizeof(RowRange)));
  std::ranges::sort(all, [](const Range& a, const Range& b) {
    return a.id != b.id ? a.id < b.id : a.rows.begin_row < b.rows.begin_row;
  });
  SymbolRows found(key);
  std::vector<RowRange> of_symbol;
  for (size_t i = 0; i < all.size(); ++i) {
    of_symbol.push_back(all[i].rows);
    if (i + 1 < all.size() && all[i + 1].id == all[i].id) continue;
    found.Add(all[i].id, RowSet::OfRanges(of_symbol));
    of_symbol.clear();
  }
  return found;
}

namespace {

// nullopt: a part's times do not ascend.
template <typename T>
std::optional<RowSet> CutRanges(const RowSet& rows, const Column& times, T first, T last) {
  const ChunkLayout layout = times.layout();
  std::vector<RowRange> cut;
  bool ascend = true;
  EachRangeOf(rows, [&](size_t begin_row, size_t end_row) {
    EachPart(layout, begin_row, end_row, [&](size_t row, size_t part_end) {
      const size_t chunk = layout.NumberOf(row);
      const std::span<const T> part =
          times.Chunk<T>(chunk).subspan(row - layout.BeginRow(chunk), part_end - row);
      ascend = ascend && std::ranges::is_sorted(part);
      if (!ascend) return;
      const auto begin = std::ranges::lower_bound(part, first);
      const auto end = std::ranges::upper_bound(begin, part.end(), last);
      cut.push_back({row + static_cast<size_t>(begin - part.begin()),
                     row + static_cast<size_t>(end - part.begin())});
    });
  });
  if (!ascend) return std::nullopt;
  return RowSet::OfRanges(cut);
}

}  // namespace

template <typename T>
absl::StatusOr<std::optional<SymbolRows>> SymbolRows::WithTimesOf(const Column& times, T first,
                                                                  T last, Budget& budget) const {
  std::vector<std::optional<RowSet>> cuts(rows_.size());
  TS_RETURN_IF_ERROR(ParallelRanges(budget, rows_.size(), 16, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) cuts[i] = CutRanges(*rows_[i], times, first, last);
    return absl::OkStatus();
  }));
  SymbolRows cut(key_);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!cuts[i].has_value()) return std::nullopt;
    cut.Add(ids_[i], *std::move(cuts[i]));
  }
  return cut;
}

template absl::StatusOr<std::optional<SymbolRows>> SymbolRows::WithTimesOf(const Column&, int32_t,
                                                                           int32_t, Budget&) const;
template absl::StatusOr<std::optional<SymbolRows>> SymbolRows::WithTimesOf(const Column&, int64_t,
                                                                           int64_t, Budget&) const;

std::optional<SymbolRows> SymbolRows::WithTimes(int64_t first_ns, int64_t last_ns) const {
  SymbolRows cut(key_);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!rows_[i]->has_sorted_times()) return std::nullopt;
    cut.Add(ids_[i], rows_[i]->WithTimes(first_ns, last_ns));
  }
  return cut;
}

absl::StatusOr<RowSet> SymbolRows::Merge(Budget& budget) const {
  if (rows_.empty()) return RowSet();
  if (rows_.size() == 1) return *rows_[0];
  if (key_.stored() != nullptr) {
    std::vector<RowRange> ranges;
    for (const auto& rows : rows_) {
      EachRangeOf(
          *rows, [&](size_t begin_row, size_t end_row) { ranges.push_back({begin_row, end_row}); });
    }
    TS_RETURN_IF_ERROR(budget.Charge(ranges.size(), 2 * sizeof(RowRange)));
    std::ranges::sort(ranges, {}, &RowRange::begin_row);
    return RowSet::OfRanges(ranges);
  }
  size_t count = 0;
  for (const auto& rows : rows_) count += rows->count();
  const size_t table_rows = key_.rows();
  TS_RETURN_IF_ERROR(budget.Charge(count, sizeof(uint32_t)));
  ScratchVector<uint32_t> merged;
  merged.reserve(count);
  for (const auto& rows : rows_) {
    for (const PostingRun& run : rows->runs()) {
      merged.insert(merged.end(), run.rows.begin(), run.rows.end());
    }
  }
  if (count < table_rows / 64) {
    std::ranges::sort(merged);
    return RowSet::Of(std::move(merged));
  }
  TS_RETURN_IF_ERROR(budget.Charge(table_rows / 64 + 1, sizeof(uint64_t)));
  ScratchVector<uint64_t> bits(table_rows / 64 + 1);
  for (uint32_t row : merged) bits[row / 64] |= uint64_t{1} << row % 64;
  size_t at = 0;
  for (size_t word = 0; word < bits.size(); ++word) {
    for (uint64_t left = bits[word]; left != 0; left &= left - 1) {
      merged[at++] = static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(left)));
    }
  }
  return RowSet::Of(std::move(merged));
}

}  // namespace tickstack::query
