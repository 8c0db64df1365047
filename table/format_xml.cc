#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "table/element_text.h"
#include "table/field_text.h"
#include "table/format_value.h"
#include "table/utf8.h"

namespace tickstack {
namespace {

constexpr std::string_view kDeclaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";

// A value as named columns, which point into the value.
struct Grid {
  std::vector<std::string_view> names;
  std::vector<const Value*> columns;
  size_t rows = 0;
  bool is_scalar = false;  // True if one column with one row is the value itself.
};

bool IsListOfItems(const Value& value) { return value.is_vector() || value.is_list(); }

void AddColumns(Grid& grid, const Value& table) {
  for (size_t c = 0; c < table.columns().size(); ++c) {
    grid.names.push_back(table.column_names()[c]);
    grid.columns.push_back(&table.columns()[c]);
  }
  grid.rows = table.count();
}

Grid GridOf(const Value& value) {
  Grid grid;
  if (value.is_table()) {
    AddColumns(grid, value);
  } else if (value.is_keyed_table()) {
    AddColumns(grid, value.keys());
    AddColumns(grid, value.values());
  } else if (value.is_dict() && IsListOfItems(value.keys()) && IsListOfItems(value.values())) {
    grid = {{"key", "value"}, {&value.keys(), &value.values()}, value.keys().count()};
  } else {
    const bool is_scalar = !IsListOfItems(value) || value.is_string();
    grid = {{"value"}, {&value}, is_scalar ? 1 : value.count(), is_scalar};
  }
  return grid;
}

// Appends text. Text that is not UTF-8 or has control characters cannot be XML, not even as
// references.
void AppendXmlText(std::string& out, std::string_view text) {
  std::string plain;
  AppendUtf8(plain, text);
  for (const char c : plain) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (c == '\r') {
      out += "&#13;";  // A bare CR would be read as LF.
    } else if (byte < 0x20 && c != '\n' && c != '\t') {
      out += kReplacementCharacter;
    } else {
      out += c;
    }
  }
}

void AppendCell(std::string& out, const Grid& grid, size_t column, size_t row) {
  if (grid.is_scalar) return AppendField(out, *grid.columns[column], AppendXmlText);
  AppendFieldOf(out, *grid.columns[column], row, AppendXmlText);
}

bool IsElementName(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [&](char c) {
    return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
  });
}

// Returns the spreadsheet's type for a cell that is not empty. Spreadsheets read numbers as floats
// of 15 digits.
std::string_view CellType(const Grid& grid, size_t c, size_t row) {
  constexpr double kExactMax = 1e15;
  const Value& column = *grid.columns[c];
  if (!grid.is_scalar && column.is(Type::kSymbol)) return "String";
  const Value item = grid.is_scalar ? column
                     : column.is_list()
                         ? column.items()[row]
                         : Value::AtomFromBytes(column.type(), ElementAt(column, row));
  if (!item.is_atom()) return "String";
  const Type type = item.type();
  bool number = false;
  if (type == Type::kByte || type == Type::kShort || type == Type::kInt) {
    number = FiniteOf(type, item.elements()) == Finite::kFinite;
  } else if (type == Type::kLong) {
    number = std::abs(static_cast<double>(item.as<int64_t>())) < kExactMax;
  } else if (type == Type::kReal) {
    number = std::isfinite(item.as<float>());
  } else if (type == Type::kFloat) {
    number = std::isfinite(item.as<double>());
  }
  return number ? "Number" : "String";
}

void AppendSheetCell(std::string& out, std::string_view type, std::string_view escaped) {
  if (escaped.empty()) {
    out += "<Cell/>";
    return;
  }
  out += "<Cell><Data ss:Type=\"";
  out += type;
  out += "\">";
  out += escaped;
  out += "</Data></Cell>";
}

}  // namespace

std::string FormatXml(const Value& value) {
  const Grid grid = GridOf(value);
  std::vector<std::string> begins, ends;
  for (const std::string_view name : grid.names) {
    std::string begin;
    if (IsElementName(name)) {
      begin = name;
    } else {
      begin = "column name=\"";
      AppendXmlText(begin, name);
      begin += '"';
    }
    begins.push_back("<" + begin + ">");
    ends.push_back("</" + begin.substr(0, begin.find(' ')) + ">");
  }
  std::string out(kDeclaration);
  out += "<R>\n";
  for (size_t row = 0; row < grid.rows; ++row) {
    out += "<r>";
    for (size_t c = 0; c < grid.columns.size(); ++c) {
      out += begins[c];
      AppendCell(out, grid, c, row);
      out += ends[c];
    }
    out += "</r>\n";
  }
  out += "</R>\n";
  return out;
}

std::string FormatWorkbook(const Value& value) {
  const Grid grid = GridOf(value);
  std::string out(kDeclaration);
  out +=
      "<?mso-application progid=\"Excel.Sheet\"?>\n"
      "<Workbook xmlns=\"urn:schemas-microsoft-com:office:spreadsheet\" "
      "xmlns:ss=\"urn:schemas-microsoft-com:office:spreadsheet\">\n"
      "<Worksheet ss:Name=\"Sheet1\"><Table>\n<Row>";
  std::string cell;
  for (const std::string_view name : grid.names) {
    cell.clear();
    AppendXmlText(cell, name);
    AppendSheetCell(out, "String", cell);
  }
  out += "</Row>\n";
  for (size_t row = 0; row < grid.rows; ++row) {
    out += "<Row>";
    for (size_t c = 0; c < grid.columns.size(); ++c) {
      cell.clear();
      AppendCell(cell, grid, c, row);
      AppendSheetCell(out, cell.empty() ? "String" : CellType(grid, c, row), cell);
    }
    out += "</Row>\n";
  }
  out += "</Table></Worksheet></Workbook>\n";
  return out;
}

}  // namespace tickstack
