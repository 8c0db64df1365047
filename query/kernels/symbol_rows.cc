#include "query/kernels/symbol_rows.h"

#include <algorithm>
#include <bit>

#include "query/columns/parallel.h"
#include "query/kernels/temporal.h"

namespace tickstack::query {

void SymbolRows::Add(SymbolId id, RowSet rows) {
  if (rows.count() == 0) return;
  ids_.push_back(id);
  rows_.push_back(std::make_shared<const RowSet>(std::move(rows)));
}

absl::StatusOr<SymbolRows> SymbolRows::Of(const AnyColumn& key, std::span<const SymbolId> ids) {
  SymbolRows found(key);
  std::vector<disk::RowRange> ranges;
  for (SymbolId id : ids) {
    if (key.stored() != nullptr) {
      ranges.clear();
      TS_RETURN_IF_ERROR(key.stored()->RangesOf(id, ranges));
      found.Add(id, RowSet::FromRanges(ranges));
    } else if (const std::optional<Postings> postings = key.snapshot().RowsOf(id)) {
      found.Add(id, RowSet::FromPostings(*postings));
    }
  }
  return found;
}

absl::StatusOr<SymbolRows> SymbolRows::All(const AnyColumn& key, const RowSet& rows,
                                           Budget& budget) {
  struct Range {
    SymbolId id;
    disk::RowRange rows;
  };
  std::vector<Range> all;
  TS_RETURN_IF_ERROR(key.stored()->ForEachRange(
      rows, [&](SymbolId id, disk::RowRange of_symbol) { all.push_back({id, of_symbol}); }));
  TS_RETURN_IF_ERROR(budget.Charge(all.size(), sizeof(Range) + sizeof(disk::RowRange)));
  std::ranges::sort(all, [](const Range& a, const Range& b) {
    return a.id != b.id ? a.id < b.id : a.rows.begin_row < b.rows.begin_row;
  });
  SymbolRows found(key);
  std::vector<disk::RowRange> of_symbol;
  for (size_t i = 0; i < all.size(); ++i) {
    of_symbol.push_back(all[i].rows);
    if (i + 1 < all.size() && all[i + 1].id == all[i].id) continue;
    found.Add(all[i].id, RowSet::FromRanges(of_symbol));
    of_symbol.clear();
  }
  return found;
}

namespace {

// True if the times of rows [row, end_row) of a part ascend. Checks all rows of their symbol in the
// part and remembers the result for other ranges of that symbol.
template <typename T>
absl::StatusOr<bool> Ascend(const StoredColumn& key, const StoredColumn& times, size_t part,
                            size_t row, size_t end_row, std::span<const T> all) {
  const size_t part_begin = times.layout().BeginRow(part);
  const disk::PartedIndex& index = key.IndexOf(part);
  const disk::RowRange of_symbol = index.rows(index.KeyOfRow(row));
  // A name that its domain has twice may have two neighbouring keys.
  if (end_row > of_symbol.end_row) {
    TS_RETURN_IF_ERROR(times.Verify(part_begin + row, part_begin + end_row));
    return std::ranges::is_sorted(all.subspan(row, end_row - row));
  }
  // Ranges that are known were read from verified rows.
  disk::AscendingRanges& known = times.AscendingIn(part);
  if (const std::optional<bool> ascends = known.Find(of_symbol)) return *ascends;
  TS_RETURN_IF_ERROR(
      times.Verify(part_begin + of_symbol.begin_row, part_begin + of_symbol.end_row));
  const bool ascends = std::ranges::is_sorted(all.subspan(of_symbol.begin_row, of_symbol.rows()));
  known.Add(of_symbol, ascends);
  return ascends;
}

// Calls cut(times) for each range of rows within one part whose times ascend. `cut` returns the
// pair of iterators that bounds the selected times, or nullopt if it cannot tell. Returns nullopt
// in that case, or if the times of a part do not ascend. kDataLoss if they are damaged.
template <typename T, typename Cut>
absl::StatusOr<std::optional<RowSet>> CutRanges(const AnyColumn& key, const AnyColumn& times,
                                                const RowSet& rows, Cut cut) {
  const ChunkLayout layout = times.layout();
  std::vector<disk::RowRange> left;
  bool known = true;
  absl::Status damage;
  EachRangeOf(rows, [&](size_t begin_row, size_t end_row) {
    EachPart(layout, begin_row, end_row, [&](size_t row, size_t part_end) {
      if (!known || !damage.ok()) return;
      const size_t part = layout.NumberOf(row), part_begin = layout.BeginRow(part);
      const std::span<const T> all = times.Chunk<T>(part);
      const absl::StatusOr<bool> ascend = Ascend(*key.stored(), *times.stored(), part,
                                                 row - part_begin, part_end - part_begin, all);
      damage = ascend.status();
      known = ascend.ok() && *ascend;
      if (!known) return;
      const std::span<const T> piece = all.subspan(row - part_begin, part_end - row);
      const std::optional<std::span<const T>> within = cut(piece);
      known = within.has_value();
      if (!known || within->empty()) return;
      const size_t first = row + static_cast<size_t>(within->data() - piece.data());
      left.push_back({first, first + within->size()});
    });
  });
  TS_RETURN_IF_ERROR(damage);
  if (!known) return std::nullopt;
  return std::optional(RowSet::FromRanges(left));
}

template <typename T>
std::span<const T> Between(std::span<const T> ascending, T first, T last) {
  const auto begin = std::ranges::lower_bound(ascending, first);
  return {begin, std::ranges::upper_bound(begin, ascending.end(), last)};
}

}  // namespace

absl::StatusOr<std::optional<SymbolRows>> SymbolRows::CutEach(
    Budget& budget,
    absl::FunctionRef<absl::StatusOr<std::optional<RowSet>>(const RowSet&)> cut) const {
  std::vector<std::optional<RowSet>> cuts(rows_.size());
  TS_RETURN_IF_ERROR(
      ParallelRanges(budget, rows_.size(), 16, [&](size_t begin, size_t end) -> absl::Status {
        for (size_t i = begin; i < end; ++i) {
          TS_ASSIGN_OR_RETURN(cuts[i], cut(*rows_[i]));
        }
        return absl::OkStatus();
      }));
  SymbolRows left(key_);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!cuts[i].has_value()) return std::nullopt;
    left.Add(ids_[i], *std::move(cuts[i]));
  }
  return left;
}

template <typename T>
absl::StatusOr<std::optional<SymbolRows>> SymbolRows::WithTimesOf(const AnyColumn& times, T first,
                                                                  T last, Budget& budget) const {
  return CutEach(budget, [&](const RowSet& rows) {
    return CutRanges<T>(key_, times, rows, [&](std::span<const T> piece) {
      return std::optional(first > last ? std::span<const T>() : Between(piece, first, last));
    });
  });
}

absl::StatusOr<std::optional<SymbolRows>> SymbolRows::WithTimesOfDay(const AnyColumn& times,
                                                                     int64_t first_ns,
                                                                     int64_t last_ns,
                                                                     Budget& budget) const {
  using Piece = std::span<const int64_t>;
  const auto cut = [&](Piece piece) -> std::optional<Piece> {
    // Nulls and infinities belong to no day.
    if (piece.front() <= -kInfinityLong / 2 || piece.back() >= kInfinityLong / 2) {
      return std::nullopt;
    }
    const int64_t day = FloorDivide(piece.front(), kNsPerDay);
    if (FloorDivide(piece.back(), kNsPerDay) != day) return std::nullopt;
    if (first_ns > last_ns) return Piece();
    return Between(piece, day * kNsPerDay + first_ns, day * kNsPerDay + last_ns);
  };
  return CutEach(budget,
                 [&](const RowSet& rows) { return CutRanges<int64_t>(key_, times, rows, cut); });
}

template absl::StatusOr<std::optional<SymbolRows>> SymbolRows::WithTimesOf(const AnyColumn&,
                                                                           int32_t, int32_t,
                                                                           Budget&) const;
template absl::StatusOr<std::optional<SymbolRows>> SymbolRows::WithTimesOf(const AnyColumn&,
                                                                           int64_t, int64_t,
                                                                           Budget&) const;

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
    std::vector<disk::RowRange> ranges;
    for (const auto& rows : rows_) {
      EachRangeOf(
          *rows, [&](size_t begin_row, size_t end_row) { ranges.push_back({begin_row, end_row}); });
    }
    TS_RETURN_IF_ERROR(budget.Charge(ranges.size(), 2 * sizeof(disk::RowRange)));
    std::ranges::sort(ranges, {}, &disk::RowRange::begin_row);
    return RowSet::FromRanges(ranges);
  }
  size_t count = 0;
  for (const auto& rows : rows_) count += rows->count();
  const size_t table_rows = key_.rows();
  TS_RETURN_IF_ERROR(budget.Charge(count, sizeof(uint32_t)));
  ScratchVector<uint32_t> merged;
  merged.reserve(count);
  for (const auto& rows : rows_) {
    for (const PostingRun& run : rows->runs()) {
      mem::MediumAccess access(run.medium);
      merged.insert(merged.end(), run.rows.begin(), run.rows.end());
      access.ReadInOrder(run.rows.data(), run.rows.size_bytes());
    }
  }
  if (count < table_rows / 64) {
    std::ranges::sort(merged);
    return RowSet::FromRows(std::move(merged));
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
  return RowSet::FromRows(std::move(merged));
}

}  // namespace tickstack::query
