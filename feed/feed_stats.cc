#include "feed/feed_stats.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/status.h"
#include "feed/feed.h"

namespace tickstack::feed {
namespace {

// From what needs attention first to what is over.
constexpr std::array kStates = {FeedState::kFailed,  FeedState::kHeld,       FeedState::kAsking,
                                FeedState::kWaiting, FeedState::kPublishing, FeedState::kConfirming,
                                FeedState::kDone};

size_t RankOf(std::string_view state) {
  return static_cast<size_t>(
      std::ranges::find(kStates, state, [](FeedState each) { return NameOf(each); }) -
      kStates.begin());
}

Value ItemOf(const Value& stats, std::string_view name) {
  const SymbolVector& names = stats.keys().symbols();
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return stats.values().items()[i];
  }
  return {};
}

// Adds the counts of dictionaries with the same tables.
Value SumOfCounts(const std::vector<Value>& counts) {
  std::vector<int64_t> sums(counts.front().values().count());
  for (const Value& each : counts) {
    const std::span<const int64_t> rows = each.values().span<int64_t>();
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += rows[i];
  }
  return Value::Dict(counts.front().keys(),
                     Value::Vector(Type::kLong, std::span<const int64_t>(sums)));
}

Value Merged(std::string_view name, const std::vector<Value>& values) {
  const Value& first = values.front();
  // Every shard reads the same source.
  if (name == "messages") return first;
  if (first.is_dict()) return SumOfCounts(values);
  if (name == "state") {
    return *std::ranges::min_element(values, {},
                                     [](const Value& state) { return RankOf(state.symbol()); });
  }
  if (first.is_atom_of(Type::kBoolean)) {
    return Value::Boolean(
        std::ranges::all_of(values, [](const Value& value) { return value.as<uint8_t>() != 0; }));
  }
  if (first.is_atom_of(Type::kLong)) {
    int64_t sum = 0;
    for (const Value& value : values) sum += value.as<int64_t>();
    return Value::Long(sum);
  }
  if (first.is_atom_of(Type::kFloat)) {
    double sum = 0, most = 0;
    for (const Value& value : values) {
      sum += value.as<double>();
      most = std::max(most, value.as<double>());
    }
    return Value::Float(name == "rows_per_s" ? sum : most);
  }
  return first;
}

}  // namespace

Value MergedStats(std::span<const std::pair<std::string, Value>> stats) {
  SymbolVector names = stats.front().second.keys().symbols();
  std::vector<Value> merged;
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<Value> values;
    std::string errors;
    for (const auto& [shard, each] : stats) {
      values.push_back(ItemOf(each, names[i]));
      if (names[i] != "error" || values.back().text().empty()) continue;
      errors +=
          fmt::format("{}shard {}: {}", errors.empty() ? "" : "; ", shard, values.back().text());
    }
    merged.push_back(names[i] == "error" ? Value::String(errors) : Merged(names[i], values));
  }
  SymbolVector shards, states;
  for (const auto& [shard, each] : stats) {
    shards.push_back(shard);
    states.push_back(ItemOf(each, "state").symbol());
  }
  names.push_back("shards");
  merged.push_back(
      Value::Dict(Value::Symbols(std::move(shards)), Value::Symbols(std::move(states))));
  return Value::Dict(Value::Symbols(std::move(names)), Value::List(std::move(merged)));
}

}  // namespace tickstack::feed
