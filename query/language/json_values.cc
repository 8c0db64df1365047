#include "query/language/json_values.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "query/columns/elements.h"
#include "query/columns/errors.h"
#include "query/language/item_terms.h"
#include "table/format_value.h"

namespace tickstack::query {
namespace {

using Json = nlohmann::json;

absl::StatusOr<Value> ValueOf(const Json& json, int depth, Budget& budget) {
  if (depth > kMaxListDepth) return StackError("JSON more than {} deep", kMaxListDepth);
  switch (json.type()) {
    case Json::value_t::null:
      return Value::Float(std::numeric_limits<double>::quiet_NaN());
    case Json::value_t::boolean:
      return Value::Boolean(json.get<bool>());
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return Value::Float(json.get<double>());
    case Json::value_t::string:
      return Value::String(json.get_ref<const std::string&>());
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json) {
        TS_ASSIGN_OR_RETURN(items.emplace_back(), ValueOf(item, depth + 1, budget));
      }
      return CollectItems(std::move(items), budget);
    }
    default:
      break;
  }
  SymbolVector names;
  std::vector<Value> values;
  for (const auto& [name, item] : json.items()) {
    names.push_back(name);
    TS_ASSIGN_OR_RETURN(values.emplace_back(), ValueOf(item, depth + 1, budget));
  }
  TS_ASSIGN_OR_RETURN(Value list, CollectItems(std::move(values), budget));
  // Keeps a list even if its values could be rows: a dictionary's values are single ones.
  return Value::Dict(Value::Symbols(std::move(names)), std::move(list));
}

}  // namespace

absl::StatusOr<Value> JsonOf(const Value& x, Budget& budget) {
  const size_t bytes = ApproximateBytes(x);
  // Each row repeats the columns' names. The text grows by doubling and is copied once.
  size_t names = 0;
  if (x.is_table()) names = x.count() * (x.column_names().text().size() + 4 * x.columns().size());
  TS_RETURN_IF_ERROR(budget.Charge(Budget::Amount{16 * bytes + 3 * names, 16 * bytes + 3 * names}));
  return Value::String(FormatJson(x));
}

absl::StatusOr<Value> ValueOfJson(std::string_view text, Budget& budget) {
  // Counts a node for each two bytes, and its value.
  constexpr size_t kBytesPerByte = 96;
  TS_RETURN_IF_ERROR(
      budget.Charge(Budget::Amount{text.size() * kBytesPerByte, text.size() * kBytesPerByte}));
  // Bounds the depth by counting open brackets, before anything recurses.
  int depth = 0;
  const auto callback = [&depth](int at, Json::parse_event_t, Json&) {
    depth = std::max(depth, at);
    return at <= kMaxListDepth;
  };
  const Json json = Json::parse(text, callback, false);
  if (depth > kMaxListDepth) return StackError("JSON more than {} deep", kMaxListDepth);
  if (json.is_discarded()) return ParseError("json", 0, "no JSON text");
  return ValueOf(json, 0, budget);
}

}  // namespace tickstack::query
