#include "query/columns/table_view.h"

#include <algorithm>
#include <optional>

#include "query/columns/errors.h"
#include "query/columns/gather.h"

namespace tickstack::query {
namespace {

// Checks that the columns have `rows` rows, which earlier columns have set if there are any.
absl::Status CheckColumns(const Value& table, std::optional<size_t>& rows) {
  if (!table.values().is_list() || !table.keys().is(Type::kSymbol) ||
      table.keys().count() != table.values().count()) {
    return TypeError("a table whose columns are not a list of vectors with names");
  }
  for (size_t i = 0; i < table.columns().size(); ++i) {
    const Value& column = table.columns()[i];
    if (!column.is_vector() && !column.is_list()) {
      return TypeError("column {} is a {}, not a vector", table.column_names()[i],
                       NameOf(column.type()));
    }
    if (rows.has_value() && column.count() != *rows) {
      return LengthError("column {} has {} items, others {}", table.column_names()[i],
                         column.count(), *rows);
    }
    rows = column.count();
  }
  return absl::OkStatus();
}

void AddColumns(const Value& table, TableView& view) {
  for (size_t i = 0; i < table.columns().size(); ++i) {
    view.names.emplace_back(table.column_names()[i]);
    view.columns.emplace_back(table.columns()[i]);
  }
}

}  // namespace

int TableView::Find(std::string_view name) const {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

absl::StatusOr<Slice> TableView::ColumnAt(size_t column, Budget& budget) const {
  TS_ASSIGN_OR_RETURN(AnyColumn gathered, columns[column].Get(budget));
  return Slice{std::move(gathered), rows};
}

absl::StatusOr<std::vector<Slice>> TableView::ColumnsAt(std::span<const size_t> wanted,
                                                        Budget& budget) const {
  std::vector<Slice> slices;
  for (const size_t column : wanted) {
    TS_ASSIGN_OR_RETURN(Slice slice, ColumnAt(column, budget));
    slices.push_back(std::move(slice));
  }
  return slices;
}

TableView ViewOf(Snapshot snapshot) {
  TableView view;
  view.rows = std::make_shared<const RowSet>(RowSet::Range(0, snapshot.rows()));
  const auto shared = std::make_shared<const Snapshot>(std::move(snapshot));
  for (size_t i = 0; i < shared->schema().columns.size(); ++i) {
    view.names.push_back(shared->schema().columns[i].name);
    view.columns.emplace_back(AnyColumn(shared, i));
  }
  view.key_columns = shared->schema().key_columns;
  return view;
}

TableView ViewOf(std::shared_ptr<const StoredParts> parts) {
  TableView view;
  view.rows = std::make_shared<const RowSet>(RowSet::Range(0, parts->rows()));
  const std::vector<ColumnSpec>& columns = parts->table().schema().columns;
  for (size_t i = 0; i < columns.size(); ++i) {
    view.names.push_back(columns[i].name);
    view.columns.emplace_back(parts, i);
  }
  view.stored = std::move(parts);
  return view;
}

absl::Status CheckTable(const Value& value) {
  std::optional<size_t> rows;
  if (value.is_table()) return CheckColumns(value, rows);
  if (!value.is_keyed_table()) {
    return TypeError("a {} where a table is expected", NameOf(value.type()));
  }
  TS_RETURN_IF_ERROR(CheckColumns(value.keys(), rows));
  return CheckColumns(value.values(), rows);
}

absl::StatusOr<TableView> ViewOf(Value value) {
  TS_RETURN_IF_ERROR(CheckTable(value));
  TableView view;
  if (value.is_keyed_table()) {
    AddColumns(value.keys(), view);
    view.key_columns = view.columns.size();
    AddColumns(value.values(), view);
  } else {
    AddColumns(value, view);
  }
  const size_t rows = view.columns.empty() ? 0 : view.columns.front().rows();
  view.rows = std::make_shared<const RowSet>(RowSet::Range(0, rows));
  return view;
}

TableView ViewOf(std::vector<std::string> names, std::vector<Value> columns) {
  TableView view;
  const size_t rows = columns.empty() ? 0 : columns.front().count();
  view.rows = std::make_shared<const RowSet>(RowSet::Range(0, rows));
  view.names = std::move(names);
  for (Value& column : columns) view.columns.emplace_back(std::move(column));
  return view;
}

absl::StatusOr<Value> Release(TableView view, Budget& budget) {
  {
    std::vector<ViewColumn> whole;
    for (const ViewColumn& column : view.columns) {
      if (column.rows() == view.count()) whole.push_back(column);
    }
    TS_RETURN_IF_ERROR(ViewColumn::GatherAll(whole, budget));
  }
  std::vector<Value> columns(view.columns.size());
  // The columns that are copied are gathered together, the others one by one.
  std::vector<size_t> copied;
  std::vector<ColumnCopy> copies;
  for (size_t i = 0; i < columns.size(); ++i) {
    TS_ASSIGN_OR_RETURN(Slice slice, std::move(view.columns[i]).TakeAt(view.rows, budget));
    std::optional<Value> moved;
    if (slice.IsAll()) moved = std::move(slice.column).Release();
    if (moved.has_value()) {
      columns[i] = *std::move(moved);
    } else if (IsFixedWidth(slice.type())) {
      copied.push_back(i);
      copies.emplace_back(slice);
    } else {
      TS_ASSIGN_OR_RETURN(columns[i], Materialise(slice, budget));
    }
  }
  TS_RETURN_IF_ERROR(CopyAll(copies, budget));
  for (size_t i = 0; i < copied.size(); ++i) columns[copied[i]] = std::move(copies[i]).Finish();

  SymbolVector names[2];
  std::vector<Value> parts[2];  // The key's columns, and the others.
  for (size_t i = 0; i < columns.size(); ++i) {
    const int part = i < view.key_columns ? 0 : 1;
    names[part].push_back(view.names[i]);
    parts[part].push_back(std::move(columns[i]));
  }
  Value values = Value::Table(std::move(names[1]), std::move(parts[1]));
  if (view.key_columns == 0) return values;
  return Value::Pair(Type::kDict, Attribute::kNone,
                     Value::Table(std::move(names[0]), std::move(parts[0])), std::move(values));
}

absl::Status CheckRows(const TableView& view) {
  if (view.columns.empty() || view.columns.front().rows() < kNoItem) return absl::OkStatus();
  return LimitError("a table of {} rows, at most {}", view.columns.front().rows(), kNoItem - 1);
}

absl::StatusOr<Value> RowAt(const TableView& view, size_t i) {
  SymbolVector names;
  std::vector<Value> items;
  for (size_t column = 0; column < view.columns.size(); ++column) {
    names.push_back(view.names[column]);
    if (i == kNoItem) {
      items.push_back(NullOf(view.columns[column].type()));
      continue;
    }
    TS_ASSIGN_OR_RETURN(Value item, view.columns[column].At(view.rows->At(i)));
    items.push_back(std::move(item));
  }
  return Value::Dict(Value::Symbols(std::move(names)), Collapse(std::move(items)));
}

std::string UniqueNames::Next(std::string_view name) {
  std::string unique(name);
  if (taken_.contains(name)) {
    int& suffix = last_suffix_[name];
    do {
      unique = fmt::format("{}{}", name, ++suffix);
    } while (taken_.contains(unique));
  }
  taken_.insert(unique);
  return unique;
}

}  // namespace tickstack::query
