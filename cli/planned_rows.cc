#include "cli/planned_rows.h"

#include <algorithm>
#include <charconv>

#include "base/status.h"
#include "table/table.h"

namespace tickstack::cli {
namespace {

std::string TableNames(std::span<const Schema> schemas) {
  std::string names;
  for (const Schema& schema : schemas) names += (names.empty() ? "" : ", ") + schema.table;
  return names;
}

}  // namespace

absl::StatusOr<PlannedRows> ParsePlannedRows(std::span<const std::string> texts,
                                             std::span<const Schema> schemas) {
  PlannedRows counts;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    const size_t begin = equals == std::string::npos ? 0 : equals + 1;
    size_t rows = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data() + begin, end, rows);
    const size_t most = TableOptions().rows_max;
    if (read.ec != std::errc() || read.ptr != end || rows == 0 || rows > most) {
      return InvalidArgument(
          "--rows: expected a number from 1 to {}, or TABLE=NUMBER, found \"{}\"", most, text);
    }
    if (equals == std::string::npos) {
      counts.of_others = rows;
      continue;
    }
    const std::string table = text.substr(0, equals);
    if (std::ranges::find(schemas, table, &Schema::table) == schemas.end()) {
      return InvalidArgument("--rows: no table \"{}\": expected one of {}", table,
                             TableNames(schemas));
    }
    counts.by_table.insert_or_assign(table, rows);
  }
  return counts;
}

}  // namespace tickstack::cli
