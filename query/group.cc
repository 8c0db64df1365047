#include "query/group.h"

#include <algorithm>
#include <numeric>

#include "query/errors.h"
#include "query/gather.h"
#include "query/keys.h"

namespace tickstack::query {
namespace {

// The order of groups by their keys, first column first.
ScratchVector<uint32_t> SortedOrder(const std::vector<Value>& keys, size_t groups) {
  ScratchVector<uint32_t> order(groups);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    for (const Value& key : keys) {
      if (const int comparison = CompareItems(key, a, b); comparison != 0) return comparison < 0;
    }
    return false;
  });
  return order;
}

}  // namespace

Groups::Groups(std::vector<Value> keys, std::vector<std::shared_ptr<const RowSet>> rows)
    : keys_(std::move(keys)), indexed_(std::move(rows)) {
  Sort(indexed_.size());
}

Groups::Groups(std::vector<Value> keys, std::shared_ptr<const ScratchVector<uint32_t>> rows,
               ScratchVector<uint32_t> ends)
    : keys_(std::move(keys)), rows_(std::move(rows)), ends_(std::move(ends)) {
  Sort(ends_.size());
}

void Groups::Sort(size_t groups) {
  order_ = SortedOrder(keys_, groups);
  for (Value& key : keys_) key = TakeItems(key, order_);
}

std::shared_ptr<const RowSet> Groups::RowsOf(size_t group) const {
  const size_t number = order_[group];
  if (rows_ == nullptr) return indexed_[number];
  const size_t begin = number == 0 ? 0 : ends_[number - 1];
  return std::make_shared<const RowSet>(RowSet::Borrow(
      std::span<const uint32_t>(*rows_).subspan(begin, ends_[number] - begin), rows_));
}

absl::StatusOr<std::optional<Groups>> GroupsFromIndex(const Slice& key, Budget& budget) {
  if (!key.column.captured() || !key.IsAll()) return std::nullopt;
  const Snapshot& snapshot = key.column.snapshot();
  if (snapshot.table().indexed_column() != static_cast<int>(key.column.index())) {
    return std::nullopt;
  }
  SymbolVector names;
  std::vector<std::shared_ptr<const RowSet>> rows;
  const SymbolTable& symbols = key.column.symbols();
  const int32_t known = symbols.size();
  for (int32_t id = -1; id < known; ++id) {
    if (id % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    std::optional<Postings> postings = snapshot.RowsOf(id < 0 ? kNullSymbol : id);
    if (!postings.has_value()) return std::nullopt;
    if (postings->rows == 0) continue;
    TS_RETURN_IF_ERROR(budget.Charge(postings->runs.size(), sizeof(PostingRun)));
    names.push_back(id < 0 ? "" : symbols.NameOf(id));
    rows.push_back(std::make_shared<const RowSet>(RowSet::OfPostings(*postings)));
  }
  return Groups({Value::Symbols(std::move(names))}, std::move(rows));
}

absl::StatusOr<Groups> GroupByValues(std::span<const Slice> keys, const RowSet& rows,
                                     Budget& budget) {
  for (const Slice& key : keys) {
    if (key.count() != rows.count()) {
      return LengthError("by {} items for {} rows", key.count(), rows.count());
    }
  }
  KeyNumbers numbers(keys.size());
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> number, numbers.Number(keys, budget));
  TS_RETURN_IF_ERROR(budget.Charge(rows.count(), 2 * sizeof(uint32_t)));
  const Grouping grouping(number, numbers.size());
  const ScratchVector<uint32_t> row_numbers = rows.ToVector();
  // All groups' row numbers in one block of memory, which the groups share.
  const auto sorted = std::make_shared<ScratchVector<uint32_t>>(rows.count());
  ScratchVector<uint32_t> ends(grouping.groups()), first_positions(grouping.groups());
  TS_RETURN_IF_ERROR(budget.Charge(grouping.groups(), 3 * sizeof(uint32_t)));
  uint32_t end = 0;
  for (uint32_t group = 0; group < grouping.groups(); ++group) {
    const std::span<const uint32_t> positions = grouping.PositionsOf(group);
    first_positions[group] = positions.front();
    for (uint32_t position : positions) (*sorted)[end++] = row_numbers[position];
    ends[group] = end;
  }
  std::vector<Value> columns;
  for (const Slice& key : keys) {
    ScratchVector<uint32_t> firsts;
    firsts.reserve(first_positions.size());
    for (uint32_t position : first_positions) {
      firsts.push_back(static_cast<uint32_t>(key.rows->At(position)));
    }
    TS_ASSIGN_OR_RETURN(Value items, GatherRows(key.column, firsts, budget));
    columns.push_back(std::move(items));
  }
  return Groups(std::move(columns), sorted, std::move(ends));
}

}  // namespace tickstack::query
