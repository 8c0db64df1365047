#include "table/shard_id.h"

#include <algorithm>

#include "base/status.h"

namespace tickstack {
namespace {

constexpr std::string_view kMark = ".shards-";
constexpr size_t kDigits = 16;

}  // namespace

std::string DigestText(const ShardMap* map) {
  return map == nullptr ? std::string() : fmt::format("{:016x}", map->digest());
}

ShardId IdOf(const ShardMap* map, size_t shard) {
  if (map == nullptr) return {};
  return {map->shards()[shard], DigestText(map)};
}

std::string Describe(const ShardId& id) {
  if (id.map.empty()) return "no shard";
  return fmt::format("shard {} of the map {}", id.shard, id.map);
}

Value AnswerOf(const ShardId& id) {
  SymbolVector texts;
  texts.push_back(id.shard);
  texts.push_back(id.map);
  return Value::Dict(Value::Symbols({"shard", "map"}), Value::Symbols(std::move(texts)));
}

std::optional<ShardId> ParseShardId(const Value& answer) {
  const bool fits = answer.is_dict() && answer.keys().is(Type::kSymbol) &&
                    answer.values().is(Type::kSymbol) && answer.keys().count() == 2 &&
                    answer.keys().symbols()[0] == "shard" && answer.keys().symbols()[1] == "map";
  if (!fits) return std::nullopt;
  const SymbolVector& texts = answer.values().symbols();
  return ShardId{std::string(texts[0]), std::string(texts[1])};
}

std::string NameUnderMap(std::string_view name, std::string_view map) {
  return map.empty() ? std::string(name) : fmt::format("{}{}{}", name, kMark, map);
}

NumberedRows SplitName(std::string_view name) {
  const size_t at = name.size() - std::min(name.size(), kMark.size() + kDigits);
  const std::string_view digits = name.substr(std::min(name.size(), at + kMark.size()));
  const bool has_map = name.substr(at).starts_with(kMark) && digits.size() == kDigits &&
                       digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!has_map) return {name, {}};
  return {name.substr(0, at), digits};
}

}  // namespace tickstack
