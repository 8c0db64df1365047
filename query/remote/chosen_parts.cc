#include "query/remote/chosen_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/time.h"
#include "query/columns/errors.h"
#include "query/language/environment.h"
#include "query/remote/remote_columns.h"
#include "query/remote/sendable.h"

namespace tickstack::query {
namespace {

using Side = RemoteTable::Side;

std::string NameOfDay(const std::string& table, int32_t day) {
  return table + std::string(1, kOfDay) + FormatDate(day);
}

// The error of a shard whose rows of the last days would be missing.
absl::Status LacksTable(const RemoteTable& shard, const std::string& table) {
  return QError(absl::StatusCode::kFailedPrecondition, "schema",
                fmt::format("no rdb of shard {} has {}: expected the same tables in all shards",
                            shard.shard(), table));
}

// Returns the symbols of a condition such as sym=`A or sym in `A`B; nullptr for any other one.
const Value* SymbolsOf(const RemoteTable& table, const Node& condition) {
  const Builtin* const called = CalledBuiltin(condition);
  if (called == nullptr || (called->name != "=" && called->name != "in")) return nullptr;
  const Node *column = condition.children[1].get(), *symbols = condition.children[2].get();
  if (called->name == "=" && IsShardColumn(table, *symbols)) std::swap(column, symbols);
  if (!IsShardColumn(table, *column) || symbols->kind != Node::Kind::kConstant) return nullptr;
  const Value& value = symbols->value;
  if (value.is_atom_of(Type::kSymbol)) return &value;
  return called->name == "in" && value.is(Type::kSymbol) ? &value : nullptr;
}

// Returns, for each shard, whether it has one of the symbols on the last day.
std::vector<bool> ShardsWith(const RemoteTable& table, const Value& symbols, size_t shards) {
  std::vector<bool> with(shards, false);
  for (size_t i = 0; i < symbols.count(); ++i) {
    const std::string_view symbol = symbols.is_atom() ? symbols.symbol() : symbols.symbols()[i];
    if (const std::optional<size_t> shard = table.ShardOf(symbol)) with[*shard] = true;
  }
  return with;
}

// Returns, for each shard, whether its rows of the last day may meet the conditions.
std::vector<bool> ShardsOfSymbols(const PreparedQuery& prepared, size_t shards) {
  std::vector<bool> chosen(shards, true);
  const RemoteTable& table = prepared.table;
  if (table.ShardColumn().empty()) {
    std::fill(chosen.begin() + 1, chosen.end(), false);
    return chosen;
  }
  for (size_t i = 0; i < prepared.conditions_by_item; ++i) {
    const Value* const symbols = SymbolsOf(table, *prepared.query.conditions[i]);
    if (symbols == nullptr) continue;
    const std::vector<bool> with = ShardsWith(table, *symbols, shards);
    for (size_t k = 0; k < shards; ++k) chosen[k] = chosen[k] && with[k];
  }
  return chosen;
}

std::vector<int32_t> DaysOn(const RemoteTable& shard, Side side, const std::vector<int32_t>& days) {
  std::vector<int32_t> of_side;
  std::ranges::set_intersection(days, shard.Days(side), std::back_inserter(of_side));
  return of_side;
}

// Adds the parts of one shard that have these days.
void AddParts(const std::string& table, const RemoteTable& shard, const std::vector<int32_t>& days,
              std::vector<RemotePart>& parts) {
  const std::vector<int32_t> all_past = DaysOn(shard, Side::kPast, days);
  std::span<const int32_t> past = all_past;
  while (!past.empty()) {
    const auto of_one = past.first(shard.DaysOfOne(Side::kPast, past));
    parts.push_back({&shard, Side::kPast, table, {of_one.begin(), of_one.end()}, {}});
    past = past.subspan(of_one.size());
  }
  for (const int32_t day : DaysOn(shard, Side::kLast, days)) {
    parts.push_back({&shard, Side::kLast, NameOfDay(table, day), {day}, day});
  }
}

}  // namespace

absl::StatusOr<std::vector<RemotePart>> PartsOfDays(const PreparedQuery& prepared,
                                                    const std::vector<int32_t>& days) {
  const RemoteTable& table = prepared.table;
  const std::vector<const RemoteTable*> shards = table.Shards();
  const std::span<const int32_t> last = table.Days(Side::kLast);
  const auto is_today = [&last](int32_t day) { return !last.empty() && day == last.back(); };
  const auto is_last = [&last](int32_t day) { return std::ranges::binary_search(last, day); };
  const bool only_today = days.size() == 1 && is_today(days.front());
  const bool some_last = std::ranges::any_of(days, is_last);
  const std::vector<bool> of_symbols = ShardsOfSymbols(prepared, shards.size());
  std::vector<RemotePart> parts;
  for (size_t i = 0; i < shards.size(); ++i) {
    const RemoteTable& shard = *shards[i];
    if (!of_symbols[i] && only_today) continue;
    TS_RETURN_IF_ERROR(shard.status());
    if (of_symbols[i] && some_last && !shard.IsOn(Side::kLast)) {
      return LacksTable(shard, table.name());
    }
    std::vector<int32_t> of_shard = days;
    // Earlier days may have been captured with other symbols in this shard.
    if (!of_symbols[i]) std::erase_if(of_shard, is_today);
    if (!of_shard.empty()) TS_RETURN_IF_ERROR(shard.StatusOf(of_shard.back()));
    AddParts(table.name(), shard, of_shard, parts);
  }
  return parts;
}

absl::StatusOr<std::vector<RemotePart>> PartsWithoutDays(const PreparedQuery& prepared, Side side) {
  const RemoteTable& table = prepared.table;
  const std::vector<const RemoteTable*> shards = table.Shards();
  const std::vector<bool> chosen = ShardsOfSymbols(prepared, shards.size());
  std::vector<RemotePart> parts;
  for (size_t i = 0; i < shards.size(); ++i) {
    if (!chosen[i]) continue;
    TS_RETURN_IF_ERROR(shards[i]->status());
    if (!shards[i]->IsOn(side)) return LacksTable(*shards[i], table.name());
    parts.push_back({shards[i], side, table.name(), {}, {}});
  }
  return parts;
}

std::vector<RemotePart> PartsWithoutRows(const RemoteTable& table, bool by_days) {
  const std::vector<const RemoteTable*> shards = table.Shards();
  std::vector<RemotePart> parts;
  for (const RemoteTable* const shard : shards) {
    const std::span<const int32_t> past = shard->Days(Side::kPast);
    if (!by_days || !shard->status().ok() || past.empty()) continue;
    parts.push_back({shard, Side::kPast, table.name(), {past.back()}, {}, true});
  }
  for (const RemoteTable* const shard : shards) {
    if (!shard->status().ok() || !shard->IsOn(Side::kLast)) continue;
    const std::optional<int32_t> day = by_days ? std::optional(0) : std::nullopt;
    parts.push_back({shard, Side::kLast, table.name(), {}, day, true});
  }
  return parts;
}

bool AreOfSeveralShards(const std::vector<RemotePart>& parts) {
  return std::ranges::any_of(
      parts, [&parts](const RemotePart& part) { return part.shard != parts.front().shard; });
}

}  // namespace tickstack::query
