#include "cli/shard_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "base/human_text.h"

namespace tickstack::cli {
namespace {

constexpr size_t kLineColumns = 100;

// Returns `symbols = ["AAPL", ...]`, wrapped.
std::string SymbolsText(const ShardPlan& plan, const std::string& shard) {
  std::string text, line = "symbols = [";
  bool is_first = true;
  for (const auto& [symbol, of] : plan.symbols) {
    if (of != shard) continue;
    const std::string item = fmt::format("{}\"{}\"", is_first ? "" : ", ", symbol);
    if (line.size() + item.size() > kLineColumns) {
      text += line + ",\n";
      line = fmt::format("  \"{}\"", symbol);
    } else {
      line += item;
    }
    is_first = false;
  }
  return is_first ? "" : text + line + "]\n";
}

}  // namespace

double ImbalanceOf(const std::vector<int64_t>& rows) {
  const double sum = static_cast<double>(std::accumulate(rows.begin(), rows.end(), int64_t{0}));
  if (sum == 0) return 0;
  const auto most = static_cast<double>(*std::ranges::max_element(rows));
  return most * static_cast<double>(rows.size()) / sum - 1;
}

ShardPlan PlanShards(const ShardMap& map, const RowsOfSymbols& rows) {
  const absl::StatusOr<ShardMap> hash = ShardMap::Create(map.shards(), {});
  TS_CHECK(hash.ok());
  ShardPlan plan;
  plan.rows_before.resize(map.size());
  plan.rows_after.resize(map.size());
  int64_t sum = 0;
  for (const auto& [symbol, count] : rows) {
    plan.rows_before[map.ShardOf(symbol)] += count;
    sum += count;
  }
  const double large = kPlannedShare * static_cast<double>(sum) / static_cast<double>(map.size());
  std::vector<std::pair<int64_t, std::string>> heavy;
  for (const auto& [symbol, count] : rows) {
    if (static_cast<double>(count) >= large) {
      heavy.emplace_back(count, symbol);
    } else {
      plan.rows_after[hash->ShardOf(symbol)] += count;
    }
  }
  std::ranges::sort(heavy, [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  for (const auto& [count, symbol] : heavy) {
    const auto fewest = std::ranges::min_element(plan.rows_after);
    const auto shard = static_cast<size_t>(fewest - plan.rows_after.begin());
    *fewest += count;
    if (hash->ShardOf(symbol) != shard) plan.symbols[symbol] = map.shards()[shard];
  }
  return plan;
}

std::string PlanText(const ShardMap& map, const ShardPlan& plan) {
  std::string text =
      fmt::format("# {:<12} {:>16} {:>16} {:>8}\n", "shard", "rows now", "rows planned", "symbols");
  for (size_t i = 0; i < map.size(); ++i) {
    const auto named = std::ranges::count_if(
        plan.symbols, [&](const auto& each) { return each.second == map.shards()[i]; });
    text += fmt::format("# {:<12} {:>16} {:>16} {:>8}\n", map.shards()[i],
                        Thousands(plan.rows_before[i]), Thousands(plan.rows_after[i]), named);
  }
  text += fmt::format("# {:<12} {:>15.1f}% {:>15.1f}%\n", "above mean",
                      ImbalanceOf(plan.rows_before) * 100, ImbalanceOf(plan.rows_after) * 100);
  for (const std::string& shard : map.shards()) {
    text += fmt::format("\n[[shard]]\nname = \"{}\"\n{}", shard, SymbolsText(plan, shard));
  }
  return text;
}

}  // namespace tickstack::cli
