#include "query/kernels/find_rows.h"

#include <algorithm>
#include <utility>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/kernels/keys.h"

namespace tickstack::query {
namespace {

bool IsTuple(const Value& value, size_t columns) {
  return (value.is_vector() || value.is_list()) && value.count() == columns;
}

// Returns a list of tuples as columns.
absl::StatusOr<std::vector<Slice>> ColumnsOfTuples(const Value& tuples, size_t columns,
                                                   Budget& budget) {
  std::vector<Slice> slices;
  for (size_t column = 0; column < columns; ++column) {
    TS_RETURN_IF_ERROR(budget.ChargeItems(tuples.count()));
    std::vector<Value> items;
    for (const Value& tuple : tuples.items()) items.push_back(ItemAt(tuple, column));
    slices.push_back(Slice::Of(Collapse(std::move(items))));
  }
  return slices;
}

}  // namespace

bool IsOneKey(const Value& value, size_t columns) {
  if (value.is_table()) return false;
  if (value.is_dict()) return true;
  if (columns == 1) return value.is_atom();
  const bool tuples =
      value.is_list() && value.count() > 0 &&
      std::ranges::all_of(value.items(), [&](const Value& item) { return IsTuple(item, columns); });
  return !tuples;
}

absl::StatusOr<WantedRows> WantedRowsOf(const Value& value, size_t columns, Budget& budget) {
  WantedRows wanted;
  if (value.is_table()) {
    TS_ASSIGN_OR_RETURN(const TableView view, ViewOf(value));
    for (size_t i = 0; i < view.columns.size(); ++i) {
      TS_ASSIGN_OR_RETURN(Slice column, view.ColumnAt(i, budget));
      wanted.columns.push_back(std::move(column));
    }
    return wanted;
  }
  const Value& row = value.is_dict() ? value.values() : value;
  wanted.one = IsOneKey(value, columns);
  if (columns == 1 && !value.is_dict()) {
    if (!row.is_atom() && !row.is_vector() && !row.is_list()) return TypeError("a key");
    wanted.columns.push_back(Slice::Of(row.is_atom() ? Enlist(row) : row));
    return wanted;
  }
  if (!row.is_vector() && !row.is_list()) return LengthError("one key for {} columns", columns);
  if (!wanted.one) {
    TS_ASSIGN_OR_RETURN(wanted.columns, ColumnsOfTuples(row, columns, budget));
    return wanted;
  }
  for (size_t i = 0; i < row.count(); ++i) {
    Value item = ItemAt(row, i);
    const bool atom = item.is_atom();
    wanted.columns.push_back(
        Slice::Of(atom ? Enlist(std::move(item)) : Value::List({std::move(item)})));
  }
  return wanted;
}

absl::StatusOr<ScratchVector<uint32_t>> FindRows(const TableView& view,
                                                 std::span<const Slice> wanted, Budget& budget) {
  if (wanted.empty() || wanted.size() > view.columns.size()) {
    return LengthError("{} columns of {}", wanted.size(), view.columns.size());
  }
  std::vector<Slice> columns;
  for (size_t i = 0; i < wanted.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Slice column, view.ColumnAt(i, budget));
    columns.push_back(std::move(column));
  }
  TS_RETURN_IF_ERROR(CheckRows(view));
  KeyNumbers numbers(wanted.size());
  TS_ASSIGN_OR_RETURN(const ScratchVector<uint32_t> of_rows, numbers.Number(columns, budget));
  const uint32_t known = numbers.size();
  TS_RETURN_IF_ERROR(budget.Charge(known, sizeof(uint32_t)));
  ScratchVector<uint32_t> first_rows(known, kNoItem);
  for (size_t row = of_rows.size(); row > 0; --row) {
    first_rows[of_rows[row - 1]] = static_cast<uint32_t>(row - 1);
  }
  TS_ASSIGN_OR_RETURN(ScratchVector<uint32_t> rows, numbers.Number(wanted, budget));
  for (uint32_t& row : rows) row = row < known ? first_rows[row] : kNoItem;
  return rows;
}

}  // namespace tickstack::query
