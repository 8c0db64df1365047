#include "loadtest/answers.h"

#include <algorithm>
#include <span>

namespace tickstack::loadtest {

const Value* EntryOf(const Value& dict, std::string_view name) {
  if (!dict.is_dict() || !dict.keys().is(Type::kSymbol) || !dict.values().is_list()) return nullptr;
  const SymbolVector& names = dict.keys().symbols();
  for (size_t i = 0; i < names.size() && i < dict.values().count(); ++i) {
    if (names[i] == name) return &dict.values().items()[i];
  }
  return nullptr;
}

std::map<std::string, int64_t> LongsOf(const Value& dict) {
  std::map<std::string, int64_t> longs;
  if (!dict.is_dict() || !dict.keys().is(Type::kSymbol) || !dict.values().is(Type::kLong)) {
    return longs;
  }
  const std::span<const int64_t> values = dict.values().span<int64_t>();
  for (size_t i = 0; i < std::min(values.size(), dict.keys().count()); ++i) {
    longs[std::string(dict.keys().symbols()[i])] = values[i];
  }
  return longs;
}

const Value* ColumnOf(const Value& table, std::string_view name) {
  if (!table.is_table()) return nullptr;
  for (size_t i = 0; i < table.columns().size(); ++i) {
    if (table.column_names()[i] == name) return &table.columns()[i];
  }
  return nullptr;
}

}  // namespace tickstack::loadtest
