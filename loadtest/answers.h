#pragma once

// Reads parts of the values that processes answer: dictionaries and tables of q.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "table/value.h"

namespace tickstack::loadtest {

// Returns the entry of a dictionary that is keyed by symbols; nullptr if it has no such entry.
const Value* EntryOf(const Value& dict, std::string_view name);
// Returns a dictionary from symbols to longs; empty if `dict` has another type.
std::map<std::string, int64_t> LongsOf(const Value& dict);
// Returns a column of a table; nullptr if it has no such column.
const Value* ColumnOf(const Value& table, std::string_view name);

}  // namespace tickstack::loadtest
