#include <string_view>
#include <vector>

#include "table/field_text.h"
#include "table/format_value.h"

namespace tickstack {
namespace {

void AppendCsvField(std::string& out, std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += field;
    return;
  }
  out += '"';
  for (const char c : field) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void AppendCsvValue(std::string& out, const Value& value) {
  AppendField(out, value, AppendCsvField);
}

void AppendCsvItem(std::string& out, const Value& value, size_t i) {
  AppendFieldOf(out, value, i, AppendCsvField);
}

// Writes `tables` side by side: the key's columns and the others.
std::string CsvRows(const std::vector<const Value*>& tables) {
  std::string out;
  const auto append_line = [&](const auto& append_cell) {
    bool first = true;
    for (const Value* table : tables) {
      for (size_t c = 0; c < table->columns().size(); ++c) {
        if (!first) out += ',';
        first = false;
        append_cell(*table, c);
      }
    }
    out += '\n';
  };
  append_line([&](const Value& table, size_t c) { AppendCsvField(out, table.column_names()[c]); });
  for (size_t row = 0; row < tables.front()->count(); ++row) {
    append_line([&](const Value& table, size_t c) { AppendCsvItem(out, table.columns()[c], row); });
  }
  return out;
}

}  // namespace

std::string FormatCsv(const Value& value) {
  if (value.is_table()) return CsvRows({&value});
  if (value.is_keyed_table()) return CsvRows({&value.keys(), &value.values()});
  std::string out;
  if (value.is_dict() && value.keys().is_array() && value.values().is_array()) {
    out = "key,value\n";
    for (size_t i = 0; i < value.keys().count(); ++i) {
      AppendCsvItem(out, value.keys(), i);
      out += ',';
      AppendCsvItem(out, value.values(), i);
      out += '\n';
    }
  } else if (value.is_array() && !value.is_string()) {
    for (size_t i = 0; i < value.count(); ++i) {
      AppendCsvItem(out, value, i);
      out += '\n';
    }
  } else {
    AppendCsvValue(out, value);
    out += '\n';
  }
  return out;
}

}  // namespace tickstack
