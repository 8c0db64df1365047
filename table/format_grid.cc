#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "table/format_value.h"
#include "table/types.h"
#include "table/utf8.h"

namespace tickstack {
namespace {

struct GridColumn {
  std::string name;
  const Value* values = nullptr;
  std::string cells = {};  // JSON strings, with commas between them.
};

std::string JsonString(std::string_view text) { return FormatJson(Value::String(text)); }

void AddTable(std::vector<GridColumn>& columns, const Value& table) {
  for (size_t c = 0; c < table.columns().size(); ++c) {
    columns.push_back({std::string(table.column_names()[c]), &table.columns()[c]});
  }
}

// Returns the columns of a value that has rows; nullopt for one that is a text.
struct Columns {
  std::string_view kind;
  size_t keys = 0;  // Number of key columns, which come first.
  size_t rows = 0;
  std::vector<GridColumn> columns = {};
};
std::optional<Columns> ColumnsOf(const Value& value) {
  if (value.is_table()) {
    Columns found{.kind = "table", .rows = value.count()};
    AddTable(found.columns, value);
    return found;
  }
  if (value.is_keyed_table()) {
    Columns found{.kind = "table", .keys = value.keys().columns().size(), .rows = value.count()};
    AddTable(found.columns, value.keys());
    AddTable(found.columns, value.values());
    return found;
  }
  if (value.is_dict() && value.keys().is_array() && value.values().is_array()) {
    return Columns{.kind = "dictionary",
                   .keys = 1,
                   .rows = value.keys().count(),
                   .columns = {{"key", &value.keys()}, {"value", &value.values()}}};
  }
  if (value.is_array() && !value.is_string()) {
    return Columns{.kind = "list", .rows = value.count(), .columns = {{"value", &value}}};
  }
  return std::nullopt;
}

// Returns the letter of a column's type, as `meta` shows it: a capital for a list of vectors of one
// type, a blank for other lists.
char TypeLetterOf(const Value& column) {
  if (!column.is_list()) return LetterOf(column.type());
  if (column.count() == 0 || !column.items().front().is_vector()) return ' ';
  const Type type = column.items().front().type();
  const bool alike = std::ranges::all_of(column.items(), [type](const Value& item) {
    return item.is_vector() && item.type() == type;
  });
  const char letter = LetterOf(type);
  return alike && letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : ' ';
}

// Cuts a text that is too long, between two characters; returns whether it did.
bool Cut(std::string& text, size_t bytes) {
  if (text.size() <= bytes) return false;
  size_t end = bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  text.resize(end);
  text += "..";
  return true;
}

// The cells of the first rows, as many as the limits allow.
struct Cells {
  size_t rows = 0;
  size_t cut = 0;  // Number of cells of which only the beginning is there.
};
Cells AppendRows(Columns& shown, const GridLimits& limits) {
  Cells cells;
  size_t bytes = 0;
  const size_t rows = std::min(shown.rows, limits.rows);
  for (; cells.rows < rows && bytes < limits.bytes; ++cells.rows) {
    for (GridColumn& column : shown.columns) {
      std::string text = CellText(*column.values, cells.rows);
      if (Cut(text, limits.cell_bytes)) ++cells.cut;
      const std::string cell = JsonString(text);
      if (cells.rows > 0) column.cells += ',';
      column.cells += cell;
      bytes += cell.size() + 1;
    }
  }
  return cells;
}

}  // namespace

std::string FormatGrid(const Value& value, const GridLimits& limits) {
  std::optional<Columns> shown = ColumnsOf(value);
  if (!shown) {
    std::string text = value.is_null() ? "" : FormatText(value);
    const bool cut = Cut(text, limits.text_bytes);
    return fmt::format("{{\"kind\":\"{}\",\"cut\":{},\"text\":{}}}",
                       value.is_null() ? "nothing" : "text", cut ? 1 : 0, JsonString(text));
  }
  const Cells cells = AppendRows(*shown, limits);
  std::string out =
      fmt::format("{{\"kind\":\"{}\",\"rows\":{},\"shown\":{},\"cut\":{},\"keys\":{},\"columns\":[",
                  shown->kind, shown->rows, cells.rows, cells.cut, shown->keys);
  bool first = true;
  for (GridColumn& column : shown->columns) {
    out += fmt::format("{}{{\"name\":{},\"type\":{},\"cells\":[", first ? "" : ",",
                       JsonString(column.name),
                       JsonString(std::string(1, TypeLetterOf(*column.values))));
    first = false;
    out += std::exchange(column.cells, {});
    out += "]}";
  }
  return out += "]}";
}

}  // namespace tickstack
