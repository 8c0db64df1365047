#include "query/group.h"

#include <algorithm>
#include <numeric>

#include "query/errors.h"
#include "query/keys.h"

namespace tickstack::query {
namespace {

// The order of groups by their keys, first column first.
std::vector<uint32_t> SortedOrder(const std::vector<Value>& keys, size_t groups) {
  std::vector<uint32_t> order(groups);
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    for (const Value& key : keys) {
      if (const int comparison = CompareItems(key, a, b); comparison != 0) return comparison < 0;
    }
    return false;
  });
  return order;
}

void Reorder(Groups& groups) {
  const std::vector<uint32_t> order = SortedOrder(groups.keys, groups.rows.size());
  for (Value& key : groups.keys) key = TakeItems(key, order);
  std::vector<std::shared_ptr<const RowSet>> rows;
  rows.reserve(order.size());
  for (uint32_t group : order) rows.push_back(std::move(groups.rows[group]));
  groups.rows = std::move(rows);
}

}  // namespace

absl::StatusOr<std::optional<Groups>> GroupsFromIndex(const Slice& key, Budget& budget) {
  if (!key.column.captured() || !key.IsAll()) return std::nullopt;
  const Snapshot& snapshot = key.column.snapshot();
  if (snapshot.table().indexed_column() != static_cast<int>(key.column.index())) {
    return std::nullopt;
  }
  Groups groups;
  SymbolVector names;
  const SymbolTable& symbols = key.column.symbols();
  const int32_t known = symbols.size();
  for (int32_t id = -1; id < known; ++id) {
    if (id % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    std::optional<Postings> postings = snapshot.RowsOf(id < 0 ? kNullSymbol : id);
    if (!postings.has_value()) return std::nullopt;
    if (postings->rows == 0) continue;
    TS_RETURN_IF_ERROR(budget.Charge(postings->runs.size(), sizeof(PostingRun)));
    names.push_back(id < 0 ? "" : symbols.NameOf(id));
    groups.rows.push_back(std::make_shared<const RowSet>(RowSet::OfPostings(*postings)));
  }
  groups.keys.push_back(Value::Symbols(std::move(names)));
  Reorder(groups);
  return groups;
}

absl::StatusOr<Groups> GroupByValues(std::span<const Slice> keys, const RowSet& rows,
                                     Budget& budget) {
  for (const Slice& key : keys) {
    if (key.count() != rows.count()) {
      return LengthError("by {} items for {} rows", key.count(), rows.count());
    }
  }
  KeyNumbers numbers(keys.size());
  TS_ASSIGN_OR_RETURN(const std::vector<uint32_t> number, numbers.Number(keys, budget));
  TS_RETURN_IF_ERROR(budget.Charge(rows.count(), 2 * sizeof(uint32_t)));
  const Grouping grouping(number, numbers.size());
  const std::vector<uint32_t> row_numbers = rows.ToVector();
  // All groups' row numbers in one block of memory, which the groups share.
  const auto sorted = std::make_shared<std::vector<uint32_t>>(rows.count());

  Groups groups;
  std::vector<uint32_t> first_positions;
  size_t begin = 0;
  TS_RETURN_IF_ERROR(budget.Charge(grouping.groups(), sizeof(RowSet) + sizeof(PostingRun)));
  for (uint32_t group = 0; group < grouping.groups(); ++group) {
    const std::span<const uint32_t> positions = grouping.PositionsOf(group);
    first_positions.push_back(positions.front());
    for (size_t i = 0; i < positions.size(); ++i) {
      (*sorted)[begin + i] = row_numbers[positions[i]];
    }
    groups.rows.push_back(std::make_shared<const RowSet>(RowSet::Borrow(
        std::span<const uint32_t>(*sorted).subspan(begin, positions.size()), sorted)));
    begin += positions.size();
  }
  for (const Slice& key : keys) {
    std::vector<uint32_t> firsts;
    for (uint32_t position : first_positions) {
      firsts.push_back(static_cast<uint32_t>(key.rows->At(position)));
    }
    TS_ASSIGN_OR_RETURN(Value items, GatherRows(key.column, firsts, budget));
    groups.keys.push_back(std::move(items));
  }
  Reorder(groups);
  return groups;
}

}  // namespace tickstack::query
