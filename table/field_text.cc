#include "table/field_text.h"

#include "table/element_text.h"
#include "table/format_value.h"

namespace tickstack {

void AppendField(std::string& out, const Value& value, AppendEscaped append) {
  if (value.is_string() || value.is_atom_of(Type::kSymbol) || value.is_atom_of(Type::kChar)) {
    return append(out, value.text());
  }
  const std::string json = FormatJson(value);
  const std::string_view text = json;
  if (text == "null") return;
  // Appends numbers, texts in quotes that need no escape, or a whole array or object.
  append(out, value.is_atom() && text.front() == '"' ? text.substr(1, text.size() - 2) : text);
}

void AppendFieldOf(std::string& out, const Value& column, size_t i, AppendEscaped append) {
  if (!HasItem(column, i)) return;
  if (column.is_list()) {
    AppendField(out, column.items()[i], append);
  } else if (column.is(Type::kSymbol)) {
    append(out, column.symbols()[i]);
  } else {
    AppendField(out, Value::AtomFromBytes(column.type(), ElementAt(column, i)), append);
  }
}

}  // namespace tickstack
