#include "query/kernels/nested_rows.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "query/columns/concatenate.h"
#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/columns/gather.h"
#include "query/kernels/dictionary.h"
#include "query/kernels/keys.h"
#include "query/kernels/sort.h"

namespace tickstack::query {
namespace {

bool IsListItem(const Value& item) { return item.is_vector() || item.is_list(); }

// Returns how many rows each row becomes.
absl::StatusOr<ScratchVector<uint32_t>> ItemCounts(const std::vector<Value>& nested, size_t rows,
                                                   Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(rows, sizeof(uint32_t)));
  ScratchVector<uint32_t> counts(rows, 1);
  for (size_t row = 0; row < rows; ++row) {
    std::optional<size_t> count;
    for (const Value& column : nested) {
      const Value& item = column.items()[row];
      if (!IsListItem(item)) continue;
      if (count.has_value() && *count != item.count()) {
        return LengthError("row {} has lists of {} and {} items", row, *count, item.count());
      }
      count = item.count();
    }
    counts[row] = static_cast<uint32_t>(count.value_or(1));
  }
  return counts;
}

// Returns the items of a nested column, row by row.
absl::StatusOr<Value> UnnestColumn(Value column, std::span<const uint32_t> counts, Budget& budget) {
  std::vector<Value> parts;
  std::vector<Value>& items = column.mutable_items();
  for (size_t row = 0; row < items.size(); ++row) {
    // The first row may tell the type of an empty result.
    if (counts[row] == 0 && row > 0) continue;
    if (IsListItem(items[row])) {
      parts.push_back(std::move(items[row]));
      continue;
    }
    TS_RETURN_IF_ERROR(budget.ChargeItems(counts[row]));
    parts.push_back(Repeat(items[row], counts[row]));
  }
  if (parts.size() > 1 && parts.front().count() == 0) parts.erase(parts.begin());
  return Raze(Value::List(std::move(parts)), budget);
}

// The groups of the rows by some columns, and the first row of each group.
struct NumberedRows {
  ScratchVector<uint32_t> of_row;
  uint32_t groups = 0;
};

absl::StatusOr<NumberedRows> NumberRows(const TableView& view, std::span<const size_t> columns,
                                        Budget& budget) {
  TS_ASSIGN_OR_RETURN(const std::vector<Slice> slices, view.ColumnsAt(columns, budget));
  KeyNumbers numbers(columns.size());
  NumberedRows numbered;
  TS_ASSIGN_OR_RETURN(numbered.of_row, numbers.Number(slices, budget));
  numbered.groups = numbers.size();
  TS_RETURN_IF_ERROR(budget.Charge(view.count(), sizeof(uint32_t)));
  TS_RETURN_IF_ERROR(budget.Charge(numbered.groups, sizeof(size_t) + sizeof(uint32_t)));
  return numbered;
}

ScratchVector<uint32_t> FirstPositions(const Grouping& grouping) {
  ScratchVector<uint32_t> firsts;
  firsts.reserve(grouping.groups());
  for (uint32_t group = 0; group < grouping.groups(); ++group) {
    firsts.push_back(grouping.PositionsOf(group)[0]);
  }
  return firsts;
}

// Returns the items of each group as a vector or list.
absl::StatusOr<Value> NestColumn(const ViewColumn& column, const Grouping& grouping,
                                 std::span<const uint32_t> rows, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const AnyColumn whole, column.Get(budget));
  TS_RETURN_IF_ERROR(budget.ChargeItems(grouping.groups()));
  std::vector<Value> lists;
  ScratchVector<uint32_t> of_group;
  for (uint32_t group = 0; group < grouping.groups(); ++group) {
    if (group % 1024 == 0) TS_RETURN_IF_ERROR(budget.CheckTime());
    of_group.clear();
    for (const uint32_t position : grouping.PositionsOf(group)) of_group.push_back(rows[position]);
    TS_ASSIGN_OR_RETURN(lists.emplace_back(), GatherRows(whole, of_group, budget));
  }
  return Value::List(std::move(lists));
}

}  // namespace

absl::StatusOr<TableView> Ungroup(const TableView& view, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckRows(view));
  std::vector<Value> nested;
  std::vector<size_t> places;
  for (size_t i = 0; i < view.columns.size(); ++i) {
    if (view.columns[i].type() != Type::kList) continue;
    TS_ASSIGN_OR_RETURN(const Slice slice, view.ColumnAt(i, budget));
    TS_ASSIGN_OR_RETURN(nested.emplace_back(), Materialise(slice, budget));
    places.push_back(i);
  }
  if (nested.empty()) {
    TableView flat = view;
    flat.key_columns = 0;
    return flat;
  }
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> counts,
                      ItemCounts(nested, view.count(), budget));
  const uint64_t total = std::accumulate(counts.begin(), counts.end(), uint64_t{0});
  if (total >= kNoItem) return LimitError("{} rows, at most {}", total, kNoItem - 1);
  TS_RETURN_IF_ERROR(budget.Charge(total, sizeof(uint32_t)));
  auto repeated = std::make_shared<ScratchVector<uint32_t>>();
  repeated->reserve(total);
  const ScratchVector<uint32_t> rows = view.rows->ToVector();
  for (size_t row = 0; row < counts.size(); ++row) {
    repeated->insert(repeated->end(), counts[row], rows[row]);
  }
  const SharedPositions positions = std::move(repeated);
  TableView result;
  result.names = view.names;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, positions->size()));
  for (const ViewColumn& column : view.columns) {
    result.columns.push_back(column);
    if (column.type() == Type::kList) continue;
    result.columns.back() = ViewColumn::AtPositions(column, positions);
    TS_RETURN_IF_ERROR(result.columns.back().Settle(budget));
  }
  for (size_t i = 0; i < places.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Value items, UnnestColumn(std::move(nested[i]), counts, budget));
    result.columns[places[i]] = ViewColumn(std::move(items));
  }
  return result;
}

absl::StatusOr<TableView> NestBy(const TableView& view, std::span<const size_t> keys,
                                 Budget& budget) {
  TS_RETURN_IF_ERROR(CheckRows(view));
  if (keys.empty() || keys.size() >= view.columns.size()) {
    return LengthError("{} of {} columns as keys", keys.size(), view.columns.size());
  }
  TS_ASSIGN_OR_RETURN(const NumberedRows numbered, NumberRows(view, keys, budget));
  const Grouping grouping(numbered.of_row, numbered.groups);
  const ScratchVector<uint32_t> rows = view.rows->ToVector();
  TS_RETURN_IF_ERROR(budget.Charge(rows.size(), sizeof(uint32_t)));
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> firsts,
                      RowsAt(*view.rows, FirstPositions(grouping), budget));
  const auto first_rows = std::make_shared<const ScratchVector<uint32_t>>(std::move(firsts));
  TableView result;
  result.rows = std::make_shared<const RowSet>(RowSet::Range(0, grouping.groups()));
  result.key_columns = keys.size();
  for (const size_t key : keys) {
    result.names.push_back(view.names[key]);
    result.columns.push_back(ViewColumn::AtPositions(view.columns[key], first_rows));
    TS_RETURN_IF_ERROR(result.columns.back().Settle(budget));
  }
  for (size_t i = 0; i < view.columns.size(); ++i) {
    if (std::ranges::find(keys, i) != keys.end()) continue;
    TS_ASSIGN_OR_RETURN(Value lists, NestColumn(view.columns[i], grouping, rows, budget));
    result.names.push_back(view.names[i]);
    result.columns.emplace_back(std::move(lists));
  }
  return result;
}

absl::StatusOr<Value> GroupDict(const Value& dict, Budget& budget) {
  if (!IsPlainDict(dict)) return TypeError("group of such a dictionary");
  if (!dict.values().is_vector()) return NyiError("group of a dictionary of lists");
  const Slice values = Slice::Of(dict.values());
  KeyNumbers numbers(1);
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> of_entry,
                      numbers.Number(std::span(&values, 1), budget));
  TS_RETURN_IF_ERROR(budget.Charge(of_entry.size(), 2 * sizeof(uint32_t) + sizeof(size_t)));
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(dict)));
  const Grouping grouping(of_entry, numbers.size());
  TS_RETURN_IF_ERROR(budget.ChargeItems(grouping.groups()));
  std::vector<Value> keys;
  for (uint32_t group = 0; group < grouping.groups(); ++group) {
    keys.push_back(TakeItems(dict.keys(), grouping.PositionsOf(group)));
  }
  return Value::Dict(TakeItems(dict.values(), FirstPositions(grouping)),
                     Value::List(std::move(keys)));
}

absl::StatusOr<Value> GroupTable(const TableView& view, Budget& budget) {
  TS_RETURN_IF_ERROR(CheckRows(view));
  if (view.key_columns > 0) return NyiError("group of a keyed table");
  if (view.columns.empty()) return TypeError("group of a table without columns");
  std::vector<size_t> all(view.columns.size());
  std::iota(all.begin(), all.end(), size_t{0});
  TS_ASSIGN_OR_RETURN(const NumberedRows numbered, NumberRows(view, all, budget));
  const Grouping grouping(numbered.of_row, numbered.groups);
  TableView distinct = view;
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> firsts,
                      RowsAt(*view.rows, FirstPositions(grouping), budget));
  distinct.rows = std::make_shared<const RowSet>(RowSet::FromRows(std::move(firsts)));
  TS_ASSIGN_OR_RETURN(Value keys, Release(std::move(distinct), budget));
  TS_RETURN_IF_ERROR(budget.ChargeItems(grouping.groups()));
  TS_RETURN_IF_ERROR(budget.Charge(view.count(), sizeof(int64_t)));
  std::vector<Value> lists;
  for (uint32_t group = 0; group < grouping.groups(); ++group) {
    const std::span<const uint32_t> positions = grouping.PositionsOf(group);
    VectorWriter<int64_t> numbers(Type::kLong, positions.size());
    std::ranges::copy(positions, numbers.data());
    lists.push_back(std::move(numbers).Finish());
  }
  return Value::Pair(Type::kDict, Attribute::kNone, std::move(keys), Value::List(std::move(lists)));
}

}  // namespace tickstack::query
