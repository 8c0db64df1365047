#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "table/element_text.h"
#include "table/format_value.h"
#include "table/utf8.h"

namespace tickstack {
namespace {

void AppendJsonString(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    const char c = text[0];
    if (length == 0) {
      out += kReplacementCharacter;
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  out += '"';
}

bool IsJsonNumber(Type type) {
  return type == Type::kShort || type == Type::kInt || type == Type::kLong || type == Type::kReal ||
         type == Type::kFloat;
}

void AppendJsonElement(std::string& out, Type type, std::span<const std::byte> element) {
  if (type == Type::kBoolean) {
    out += element[0] != std::byte{0} ? "true" : "false";
    return;
  }
  if (type == Type::kByte) {
    fmt::format_to(std::back_inserter(out), "{}", std::to_integer<unsigned>(element[0]));
    return;
  }
  const Finite finite = FiniteOf(type, element);
  const bool floating = IsFloating(type);
  if (finite == Finite::kNull) {
    out += "null";
  } else if (finite != Finite::kFinite && (floating || !IsJsonNumber(type))) {
    out += finite == Finite::kPlus ? "\"inf\"" : "\"-inf\"";
  } else if (IsJsonNumber(type)) {
    out += ElementText(type, element, TimeStyle::kIso);
  } else {
    AppendJsonString(out, ElementText(type, element, TimeStyle::kIso));
  }
}

void AppendJson(std::string& out, const Value& value);

void AppendJsonSymbol(std::string& out, std::string_view symbol) {
  if (symbol.empty()) {
    out += "null";
  } else {
    AppendJsonString(out, symbol);
  }
}

// Appends item i of a vector, list or table.
void AppendJsonItem(std::string& out, const Value& value, size_t i) {
  if (!HasItem(value, i)) {
    out += "null";
  } else if (value.is_list()) {
    AppendJson(out, value.items()[i]);
  } else if (value.is(Type::kSymbol)) {
    AppendJsonSymbol(out, value.symbols()[i]);
  } else {
    AppendJsonElement(out, value.type(), ElementAt(value, i));
  }
}

void AppendJsonCells(std::string& out, const Value& table, size_t row, bool first) {
  for (size_t c = 0; c < table.columns().size(); ++c) {
    if (!first) out += ',';
    first = false;
    AppendJsonString(out, table.column_names()[c]);
    out += ':';
    AppendJsonItem(out, table.columns()[c], row);
  }
}

void AppendJsonRows(std::string& out, const Value* key_table, const Value& table) {
  out += '[';
  for (size_t row = 0; row < table.count(); ++row) {
    out += row == 0 ? "{" : ",{";
    if (key_table != nullptr) AppendJsonCells(out, *key_table, row, true);
    AppendJsonCells(out, table, row, key_table == nullptr || key_table->columns().empty());
    out += '}';
  }
  out += ']';
}

bool IsJsonArray(const Value& value) { return value.is_vector() || value.is_list(); }

// Returns a key as text, since JSON's keys are strings: text stays as it is, all else is written
// like a value.
std::string KeyText(const Value& keys, size_t i) {
  if (keys.is(Type::kSymbol)) return std::string(keys.symbols()[i]);
  if (!keys.is_list()) return ElementText(keys.type(), ElementAt(keys, i), TimeStyle::kIso);
  const Value& key = keys.items()[i];
  return key.is_string() || key.is_atom_of(Type::kSymbol) ? std::string(key.text())
                                                          : InlineText(key);
}

void AppendJsonDict(std::string& out, const Value& dict) {
  if (!IsJsonArray(dict.keys()) ||
      !IsJsonArray(dict.values())) {  // A table against something other than a table.
    out += "{\"keys\":";
    AppendJson(out, dict.keys());
    out += ",\"values\":";
    AppendJson(out, dict.values());
    out += '}';
    return;
  }
  out += '{';
  for (size_t i = 0; i < dict.keys().count(); ++i) {
    if (i > 0) out += ',';
    AppendJsonString(out, KeyText(dict.keys(), i));
    out += ':';
    AppendJsonItem(out, dict.values(), i);
  }
  out += '}';
}

void AppendJson(std::string& out, const Value& value) {
  if (value.is_atom()) {
    if (value.is_atom_of(Type::kSymbol)) return AppendJsonSymbol(out, value.symbol());
    return AppendJsonElement(out, value.type(), value.elements());
  }
  if (value.is_string()) return AppendJsonString(out, value.text());
  if (value.is_table()) return AppendJsonRows(out, nullptr, value);
  if (value.is_keyed_table()) return AppendJsonRows(out, &value.keys(), value.values());
  if (value.is_dict()) return AppendJsonDict(out, value);
  if (value.is_null()) {
    out += "null";
    return;
  }
  if (!IsJsonArray(value))
    return AppendJsonString(out, InlineText(value));  // For functions and errors.
  out += '[';
  for (size_t i = 0; i < value.count(); ++i) {
    if (i > 0) out += ',';
    AppendJsonItem(out, value, i);
  }
  out += ']';
}

}  // namespace

std::string FormatJson(const Value& value) {
  std::string out;
  AppendJson(out, value);
  return out;
}

}  // namespace tickstack
