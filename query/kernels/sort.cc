#include "query/kernels/sort.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/sort_keys.h"

// Every column becomes unsigned 64-bit keys that begin at 0, because their least one is subtracted.
// Columns whose keys together fit into 64 bits become one key, so that a day's symbol and time sort
// as one number. Then each key, the least significant one first, goes through a stable radix sort
// with as few passes as its width needs. Keys and positions are beside each other: a pass reads
// sequentially and writes to at most 1,024 places.

namespace tickstack::query {
namespace {

using Positions = ScratchVector<uint32_t>;

// Keys, all below 2^bits.
struct Keys {
  ScratchVector<uint64_t> keys;
  int bits = 0;
};

absl::StatusOr<Keys> KeysFromZero(const Slice& column, Direction direction, Budget& budget) {
  Keys result;
  TS_ASSIGN_OR_RETURN(result.keys, SortKeys(column, budget));
  if (result.keys.empty()) return result;
  const auto [lowest, highest] = std::ranges::minmax(result.keys);
  for (uint64_t& key : result.keys) {
    key = direction == Direction::kAscending ? key - lowest : highest - key;
  }
  result.bits = static_cast<int>(std::bit_width(highest - lowest));
  return result;
}

// Returns one key or more, the most significant one first.
absl::StatusOr<std::vector<Keys>> PackedKeys(std::span<const Slice> columns, Direction direction,
                                             Budget& budget) {
  std::vector<Keys> packed;
  for (const Slice& column : columns) {
    if (column.count() != columns.front().count()) {
      return LengthError("columns of {} and {} rows", columns.front().count(), column.count());
    }
    TS_ASSIGN_OR_RETURN(Keys next, KeysFromZero(column, direction, budget));
    if (packed.empty() || packed.back().bits + next.bits > 64) {
      packed.push_back(std::move(next));
      continue;
    }
    Keys& last = packed.back();
    if (next.bits == 64) {  // The last one has no bits then; shifting by 64 would be undefined.
      last = std::move(next);
      continue;
    }
    for (size_t i = 0; i < last.keys.size(); ++i) {
      last.keys[i] = last.keys[i] << next.bits | next.keys[i];
    }
    last.bits += next.bits;
  }
  return packed;
}

// Sorts by one digit: `digit_bits` bits at `shift`.
absl::Status Scatter(const ScratchVector<uint64_t>& keys, const Positions& positions, int shift,
                     int digit_bits, ScratchVector<uint64_t>& to_keys, Positions& to_positions,
                     Budget& budget) {
  constexpr size_t kUntilCheck = size_t{1} << 20;
  const uint64_t mask = (uint64_t{1} << digit_bits) - 1;
  std::array<uint32_t, 1024> next{};
  for (uint64_t key : keys) ++next[key >> shift & mask];
  uint32_t begin = 0;
  for (uint32_t& place : next) begin += std::exchange(place, begin);
  for (size_t at = 0; at < keys.size(); at += kUntilCheck) {
    TS_RETURN_IF_ERROR(budget.CheckTime());
    const size_t end = std::min(keys.size(), at + kUntilCheck);
    for (size_t i = at; i < end; ++i) {
      const uint32_t place = next[keys[i] >> shift & mask]++;
      to_keys[place] = keys[i];
      to_positions[place] = positions[i];
    }
  }
  return absl::OkStatus();
}

// Sorts the positions by their keys, stably: keys[i] belongs to positions[i].
absl::Status RadixSort(Keys& by, Positions& positions, Budget& budget) {
  if (std::ranges::is_sorted(by.keys)) return absl::OkStatus();
  const size_t n = positions.size();
  TS_RETURN_IF_ERROR(budget.Charge(n, sizeof(uint64_t) + sizeof(uint32_t)));
  ScratchVector<uint64_t> to_keys(n);
  Positions to_positions(n);
  const int passes = (by.bits + 9) / 10, digit_bits = (by.bits + passes - 1) / passes;
  for (int shift = 0; shift < by.bits; shift += digit_bits) {
    TS_RETURN_IF_ERROR(
        Scatter(by.keys, positions, shift, digit_bits, to_keys, to_positions, budget));
    std::swap(by.keys, to_keys);
    std::swap(positions, to_positions);
  }
  return absl::OkStatus();
}

// Returns the positions of the `wanted` least keys in order.
Positions SelectLeast(const ScratchVector<uint64_t>& keys, size_t wanted) {
  Positions positions(keys.size());
  std::iota(positions.begin(), positions.end(), 0u);
  const auto before = [&](uint32_t a, uint32_t b) {
    return std::pair(keys[a], a) < std::pair(keys[b], b);
  };
  const auto end = positions.begin() + static_cast<ptrdiff_t>(wanted);
  std::ranges::nth_element(positions, end, before);
  positions.resize(wanted);
  std::ranges::sort(positions, before);
  return positions;
}

absl::StatusOr<Positions> GradeKeys(std::vector<Keys> packed, size_t n, size_t wanted,
                                    Budget& budget) {
  // A selection reads all keys and sorts few; a small sort is cheaper than a radix pass's table.
  const bool few = wanted < n / 8 || n <= 256;
  if (packed.size() == 1 && few) return SelectLeast(packed.front().keys, std::min(wanted, n));
  Positions positions(n);
  std::iota(positions.begin(), positions.end(), 0u);
  for (size_t i = packed.size(); i > 0; --i) {
    Keys& by = packed[i - 1];
    if (i < packed.size()) {  // Keeps the order that the less significant keys made.
      TS_RETURN_IF_ERROR(budget.Charge(n, sizeof(uint64_t)));
      ScratchVector<uint64_t> ordered(n);
      for (size_t at = 0; at < n; ++at) ordered[at] = by.keys[positions[at]];
      by.keys = std::move(ordered);
    }
    TS_RETURN_IF_ERROR(RadixSort(by, positions, budget));
    by.keys = {};
  }
  positions.resize(std::min(wanted, n));
  return positions;
}

}  // namespace

absl::StatusOr<Positions> Grade(std::span<const Slice> columns, Direction direction, Budget& budget,
                                size_t wanted) {
  const size_t n = columns.empty() ? 0 : columns.front().count();
  if (n >= kNoItem) return LimitError("a sort of {} rows, at most {}", n, kNoItem - 1);
  TS_RETURN_IF_ERROR(budget.Charge(n, sizeof(uint32_t)));
  if (n == 0) return Positions();
  const Budget::Temporaries temporaries(budget);
  TS_ASSIGN_OR_RETURN(std::vector<Keys> packed, PackedKeys(columns, direction, budget));
  return GradeKeys(std::move(packed), n, wanted, budget);
}

absl::StatusOr<Positions> RowsAt(const RowSet& rows, Positions positions, Budget& budget) {
  if (rows.is_range()) {
    const auto begin = static_cast<uint32_t>(rows.begin_row());
    for (uint32_t& position : positions) position += begin;
    return positions;
  }
  const Budget::Temporaries temporaries(budget);
  TS_RETURN_IF_ERROR(budget.Charge(rows.count(), sizeof(uint32_t)));
  const Positions numbers = rows.ToVector();
  for (uint32_t& position : positions) position = numbers[position];
  return positions;
}

absl::StatusOr<Value> Sorted(const Slice& slice, Direction direction, Budget& budget) {
  TS_ASSIGN_OR_RETURN(Positions positions, Grade(std::span(&slice, 1), direction, budget));
  TS_ASSIGN_OR_RETURN(const Positions rows, RowsAt(*slice.rows, std::move(positions), budget));
  TS_ASSIGN_OR_RETURN(Value sorted, GatherRows(slice.column, rows, budget));
  if (direction == Direction::kAscending) sorted.set_attribute(Attribute::kSorted);
  return sorted;
}

absl::StatusOr<TableView> RowsInOrder(const TableView& view, Positions positions, Budget& budget) {
  TS_ASSIGN_OR_RETURN(Positions numbers, RowsAt(*view.rows, std::move(positions), budget));
  const auto rows = std::make_shared<const Positions>(std::move(numbers));
  TableView result;
  result.names = view.names;
  result.key_columns = view.key_columns;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, rows->size()));
  for (const ViewColumn& column : view.columns) {
    ViewColumn ordered = ViewColumn::AtPositions(column, rows);
    TS_RETURN_IF_ERROR(ordered.Settle(budget));
    result.columns.push_back(std::move(ordered));
  }
  return result;
}

}  // namespace tickstack::query
