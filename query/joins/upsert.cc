#include "query/joins/upsert.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/joins/stacked_tables.h"
#include "query/kernels/dictionary.h"

namespace tickstack::query {
namespace {

bool HasManyItems(const Value& value) { return value.is_vector() || value.is_list(); }

// Returns a column of one item. In a nested column a row's item may itself be a vector.
Value ColumnOfOne(Value item, Type type) {
  if (type != Type::kList || item.is_atom()) return Enlist(std::move(item));
  std::vector<Value> one;
  one.push_back(std::move(item));
  return Value::List(std::move(one));
}

// Returns whether the items of a list with an item per column are columns of several rows.
bool AreColumns(const TableView& table, const Value& list) {
  std::optional<size_t> rows;
  bool nested = true;
  for (size_t i = 0; i < list.count(); ++i) {
    const Value item = ItemAt(list, i);
    if (!HasManyItems(item) || (rows.has_value() && *rows != item.count())) return false;
    rows = item.count();
    nested = nested && table.columns[i].type() == Type::kList;
  }
  // If every column is nested it is one row, unless the table is empty and its types are unknown.
  return rows.has_value() && (!nested || table.count() == 0);
}

bool AreRows(const TableView& table, const Value& list) {
  return list.is_list() && list.count() > 0 &&
         std::ranges::all_of(list.items(), [&](const Value& item) {
           return HasManyItems(item) && item.count() == table.columns.size();
         });
}

absl::StatusOr<std::vector<Value>> ColumnsOfRows(const TableView& table, const Value& rows,
                                                 Budget& budget) {
  std::vector<Value> columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    TS_RETURN_IF_ERROR(budget.ChargeItems(rows.count()));
    std::vector<Value> items;
    for (const Value& row : rows.items()) items.push_back(ItemAt(row, i));
    columns.push_back(Collapse(std::move(items)));
  }
  return columns;
}

// True if items of this type fit into a column of the table.
bool FitsColumn(const TableView& table, size_t column, Type type) {
  const Type own = table.columns[column].type();
  return own == type || own == Type::kList;
}

bool AllFit(const TableView& table, const std::vector<Value>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!FitsColumn(table, i, columns[i].type())) return false;
  }
  return true;
}

absl::StatusOr<TableView> TableOfList(const TableView& table, const Value& list, Budget& budget) {
  TS_RETURN_IF_ERROR(budget.Charge(ApproximateBytes(list)));
  const size_t n = table.columns.size();
  std::vector<Value> columns;
  if (list.count() == n) {
    const bool many = AreColumns(table, list);
    for (size_t i = 0; i < n; ++i) {
      Value item = ItemAt(list, i);
      columns.push_back(many ? std::move(item)
                             : ColumnOfOne(std::move(item), table.columns[i].type()));
    }
  }
  if ((columns.empty() || !AllFit(table, columns)) && AreRows(table, list)) {
    TS_ASSIGN_OR_RETURN(columns, ColumnsOfRows(table, list, budget));
  }
  if (columns.empty()) return LengthError("{} items for {} columns", list.count(), n);
  return ViewOf(table.names, std::move(columns));
}

absl::StatusOr<TableView> TableOfRows(const TableView& table, Value rows, Budget& budget) {
  if (rows.is_table() || rows.is_keyed_table()) return ViewOf(std::move(rows));
  if (rows.is_dict()) return TableOfRow(rows);
  if (HasManyItems(rows)) return TableOfList(table, rows, budget);
  if (rows.is_atom() && table.columns.size() == 1) return TableOfList(table, Enlist(rows), budget);
  return TypeError("rows that are a {}", NameOf(rows.type()));
}

}  // namespace

absl::StatusOr<TableView> TableOfRow(const Value& dict) {
  if (!IsPlainDict(dict) || !dict.keys().is(Type::kSymbol) || dict.count() == 0) {
    return TypeError("a row that is no dictionary of names");
  }
  UniqueNames unique;
  std::vector<std::string> names;
  std::vector<Value> columns;
  for (size_t i = 0; i < dict.count(); ++i) {
    names.emplace_back(dict.keys().symbols()[i]);
    if (unique.Next(names.back()) != names.back()) return TypeError("a row with a name twice");
    Value item = ItemAt(dict.values(), i);
    columns.push_back(item.is_atom() ? Enlist(std::move(item))
                                     : ColumnOfOne(std::move(item), Type::kList));
  }
  return ViewOf(std::move(names), std::move(columns));
}

absl::StatusOr<TableView> RowsForTable(const TableView& table, Value rows, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const TableView given, TableOfRows(table, std::move(rows), budget));
  for (const std::string& name : given.names) {
    if (table.Find(name) < 0) return MismatchError(name);
  }
  TableView result;
  result.rows = given.rows;
  result.names = table.names;
  result.key_columns = table.key_columns;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const int at = given.Find(table.names[i]);
    if (at < 0) return MismatchError(table.names[i]);
    const ViewColumn& column = given.columns[static_cast<size_t>(at)];
    if (!FitsColumn(table, i, column.type())) {
      return TypeError("{}s in column {} of {}s", NameOf(column.type()), table.names[i],
                       NameOf(table.columns[i].type()));
    }
    result.columns.push_back(column);
  }
  return result;
}

absl::StatusOr<TableView> Upsert(const TableView& table, Value rows, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const TableView more, RowsForTable(table, std::move(rows), budget));
  return table.key_columns > 0 ? MergeTables(table, more, OneSided::kMismatch, budget)
                               : StackTables(table, more, OneSided::kMismatch, budget);
}

absl::StatusOr<TableView> InsertRows(const TableView& table, Value rows, Budget& budget) {
  TS_ASSIGN_OR_RETURN(const TableView more, RowsForTable(table, std::move(rows), budget));
  if (table.key_columns == 0) return StackTables(table, more, OneSided::kMismatch, budget);
  TS_ASSIGN_OR_RETURN(TableView merged, MergeTables(table, more, OneSided::kMismatch, budget));
  if (merged.count() == table.count() + more.count()) return merged;
  return QError(absl::StatusCode::kInvalidArgument, "insert",
                "a row whose keys the table has already");
}

}  // namespace tickstack::query
