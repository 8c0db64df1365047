#include "tickerplant/tables_text.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "base/byte_buffer.h"
#include "base/crc32c.h"
#include "base/printable.h"

namespace tickstack::tickerplant {

namespace {

// Returns the line of a table, with its end; empty if there is none.
std::string_view LineOf(std::string_view text, std::string_view table) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(table) && line.substr(table.size()).starts_with(' ')) return line;
    at = end;
  }
  return {};
}

// Returns what the line says of its table, without the end of the line.
std::string_view ColumnsOf(std::string_view line, std::string_view table) {
  line.remove_prefix(table.size() + 1);
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

}  // namespace

std::string TablesText(std::span<const Schema> schemas) {
  std::vector<std::string> lines;
  for (const Schema& schema : schemas) {
    lines.push_back(fmt::format("{} {}\n", schema.table, FormatSchema(schema)));
  }
  std::ranges::sort(lines);
  std::string text = fmt::format("{}", fmt::join(lines, ""));
  if (text.size() > kTablesTextBytesMax) text = fmt::format("{:08x}\n", Crc32c(AsBytes(text)));
  return text;
}

std::string DescribeOtherTables(std::string_view here, std::string_view there,
                                std::string_view at_here, std::string_view at_there) {
  for (const auto& [one, other, is_here] :
       {std::tuple(here, there, true), std::tuple(there, here, false)}) {
    for (size_t at = 0; at < one.size();) {
      const size_t end = std::min(one.find('\n', at), one.size() - 1) + 1;
      const std::string_view line = one.substr(at, end - at);
      at = end;
      const std::string_view table = line.substr(0, line.find(' '));
      if (table.size() == line.size()) continue;
      const std::string_view same = LineOf(other, table);
      if (same == line) continue;
      if (same.empty()) {
        return fmt::format("table {} is only {}", Printable(table), is_here ? at_here : at_there);
      }
      return fmt::format("table {} is \"{}\" {}, and \"{}\" {}", Printable(table),
                         Printable(ColumnsOf(is_here ? same : line, table)), at_there,
                         Printable(ColumnsOf(is_here ? line : same, table)), at_here);
    }
  }
  return "the tables differ";
}

}  // namespace tickstack::tickerplant
