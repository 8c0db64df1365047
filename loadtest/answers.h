#pragma once

// What is in the answers of processes.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "table/value.h"

namespace tickstack::loadtest {

// The entry of a dictionary from symbols to anything; nullptr if there is none.
const Value* EntryOf(const Value& dict, std::string_view name);
// A dictionary from symbols to longs; empty if it is none.
std::map<std::string, int64_t> LongsOf(const Value& dict);
// The column of a table; nullptr if there is none.
const Value* ColumnOf(const Value& table, std::string_view name);

}  // namespace tickstack::loadtest
