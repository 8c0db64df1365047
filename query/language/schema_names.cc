#include "query/language/schema_names.h"

#include <algorithm>
#include <array>

#include "base/status.h"
#include "query/language/library.h"
#include "query/language/term.h"
#include "table/types.h"

namespace tickstack::query {
namespace {

bool IsWordOfTheLanguage(std::string_view name) {
  return IsReservedWord(name) || FindBuiltin(name) != nullptr || FindInLibrary(name) != nullptr;
}

// In a database that is partitioned by it, each of these is the list of the partitions.
constexpr std::array<std::string_view, 4> kPartitions = {"date", "month", "year", "int"};
constexpr std::string_view kEnumeration = "sym", kDay = "date";
constexpr std::string_view kRowNumber = "i";  // In a query of any table.

}  // namespace

absl::Status CheckColumnName(std::string_view column) {
  if (column == kRowNumber) {
    return InvalidArgument(
        "column {}: queries find the number of the row under this name: give the column another "
        "name, such as n",
        column);
  }
  if (!IsWordOfTheLanguage(column)) return absl::OkStatus();
  return InvalidArgument(
      "column {}: this is a word of q, which queries would find instead: give the column another "
      "name, such as {}_",
      column, column);
}

absl::Status CheckSchemaNames(const Schema& schema) {
  const std::string_view table = schema.table;
  if (IsWordOfTheLanguage(table)) {
    return InvalidArgument(
        "table {}: this is a word of q, which queries would find instead: give the table another "
        "name, such as {}_",
        table, table);
  }
  if (table == kRowNumber) {
    return InvalidArgument(
        "table {}: queries find the number of the row under this name: give the table another "
        "name, such as {}_",
        table, table);
  }
  if (std::ranges::find(kPartitions, table) != kPartitions.end()) {
    return InvalidArgument(
        "table {}: queries of a partitioned database find its partitions under this name: give the "
        "table another name, such as {}_",
        table, table);
  }
  if (table == kEnumeration) {
    return InvalidArgument(
        "table {}: a database has the names of its symbols under this name: give the table another "
        "name, such as {}_",
        table, table);
  }
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const ColumnSpec& column = schema.columns[i];
    TS_RETURN_IF_ERROR(Annotate(CheckColumnName(column.name), fmt::format("table {}", table)));
    if (column.name != kDay || (i < schema.key_columns && column.type == Type::kDate)) continue;
    return InvalidArgument(
        "table {}: column {}: a partition gives its rows the column date itself, and would not "
        "have this one: give the column another name, such as day. Only a key may have a column "
        "date, of type d, for rows of days",
        table, column.name);
  }
  return absl::OkStatus();
}

}  // namespace tickstack::query
