#include "feed/sources/table_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/status.h"

namespace tickstack::feed {
namespace {

using Pair = std::pair<std::string, std::string>;

// Checks a column that a change names.
absl::Status CheckColumn(const Schema& source, std::string_view key, const std::string& column) {
  if (source.Find(column) < 0) {
    std::vector<std::string_view> names;
    for (const ColumnSpec& known : source.columns) names.emplace_back(known.name);
    return InvalidArgument("map.{}.{}: column '{}', expected one of {}", source.table, key, column,
                           fmt::join(names, ", "));
  }
  if (column == "time" || column == "sym") {
    return InvalidArgument("map.{}.{}: {} keeps its place and name", source.table, key, column);
  }
  return absl::OkStatus();
}

absl::Status CheckName(const Schema& source, std::string_view key, const std::string& name) {
  if (IsSchemaName(name)) return absl::OkStatus();
  return InvalidArgument("map.{}.{}: '{}', expected a name of letters, digits and _", source.table,
                         key, name);
}

absl::Status CheckChange(const Schema& source, const TableChange& change) {
  if (!change.name.empty()) TS_RETURN_IF_ERROR(CheckName(source, "name", change.name));
  for (const std::string& column : change.drop) {
    TS_RETURN_IF_ERROR(CheckColumn(source, "drop", column));
  }
  for (const auto& [column, name] : change.rename) {
    TS_RETURN_IF_ERROR(CheckColumn(source, "rename", column));
    TS_RETURN_IF_ERROR(CheckName(source, "rename", name));
  }
  for (const auto& [column, symbol] : change.add) {
    TS_RETURN_IF_ERROR(CheckName(source, "add", column));
    if (symbol.find('\0') != std::string::npos) {
      return InvalidArgument("map.{}.add: the symbol of {} has a zero", source.table, column);
    }
  }
  return absl::OkStatus();
}

absl::Status AddColumn(MappedTable& table, ColumnSpec column) {
  if (table.schema.Find(column.name) >= 0) {
    return InvalidArgument("map.{}: column {} would occur twice", table.of, column.name);
  }
  table.schema.columns.push_back(std::move(column));
  return absl::OkStatus();
}

absl::StatusOr<MappedTable> MapTable(const Schema& source, const TableChange& change) {
  TS_RETURN_IF_ERROR(CheckChange(source, change));
  MappedTable table{.of = source.table, .schema = {}};
  table.schema.table = change.name.empty() ? source.table : change.name;
  for (ColumnSpec column : source.columns) {
    const bool kept = std::ranges::find(change.drop, column.name) == change.drop.end();
    table.kept.push_back(kept);
    if (!kept) continue;
    const auto renamed = std::ranges::find(change.rename, column.name, &Pair::first);
    if (renamed != change.rename.end()) column.name = renamed->second;
    TS_RETURN_IF_ERROR(AddColumn(table, std::move(column)));
  }
  for (const auto& [name, symbol] : change.add) {
    TS_RETURN_IF_ERROR(AddColumn(table, {name, Type::kSymbol}));
    table.added.push_back(symbol);
  }
  return table;
}

}  // namespace

absl::StatusOr<std::vector<MappedTable>> MapTables(std::span<const Schema> wanted,
                                                   std::span<const TableChange> changes) {
  for (const TableChange& change : changes) {
    if (std::ranges::find(wanted, change.of, &Schema::table) != wanted.end()) continue;
    std::vector<std::string_view> names;
    for (const Schema& schema : wanted) names.emplace_back(schema.table);
    return InvalidArgument("map: table '{}', expected one of {}", change.of,
                           fmt::join(names, ", "));
  }
  std::vector<MappedTable> tables;
  for (const Schema& schema : wanted) {
    const auto change = std::ranges::find(changes, schema.table, &TableChange::of);
    TS_ASSIGN_OR_RETURN(MappedTable table,
                        MapTable(schema, change == changes.end() ? TableChange() : *change));
    for (const MappedTable& other : tables) {
      if (other.schema.table != table.schema.table) continue;
      return InvalidArgument("map: {} and {} would both be the table {}", other.of, table.of,
                             table.schema.table);
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string Describe(std::span<const TableChange> changes) {
  std::string text;
  for (const TableChange& change : changes) {
    text += fmt::format("{}={} -{}", change.of, change.name, fmt::join(change.drop, ","));
    for (const auto& [column, name] : change.rename) text += fmt::format(" {}>{}", column, name);
    for (const auto& [column, symbol] : change.add) text += fmt::format(" +{}={}", column, symbol);
    text += ';';
  }
  return text;
}

}  // namespace tickstack::feed
