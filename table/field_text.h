#pragma once

// Formats one field of a row: CSV, XML and spreadsheets have the same texts and differ only in
// escaping. Threads: any.

#include <cstddef>
#include <string>
#include <string_view>

#include "table/value.h"

namespace tickstack {

// Appends an escaped text.
using AppendEscaped = void (*)(std::string& out, std::string_view text);

// Appends a value: a text unchanged except for escaping, nothing for a null, any other value as
// JSON without quotes.
void AppendField(std::string& out, const Value& value, AppendEscaped append);
// Appends item `i` of a vector or list; appends nothing if there is no such item.
void AppendFieldOf(std::string& out, const Value& column, size_t i, AppendEscaped append);

}  // namespace tickstack
