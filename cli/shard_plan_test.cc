#include "cli/shard_plan.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::cli {
namespace {

ShardMap MapOf(const NameMap<std::string>& symbols) {
  return *ShardMap::Create({"a", "b", "c"}, symbols);
}

RowsOfSymbols Zipf(int symbols) {
  RowsOfSymbols rows;
  for (int i = 1; i <= symbols; ++i) rows[fmt::format("S{}", i)] = 1'000'000 / i;
  return rows;
}

std::vector<int64_t> RowsByShard(const ShardMap& map, const RowsOfSymbols& rows) {
  std::vector<int64_t> sums(map.size());
  for (const auto& [symbol, count] : rows) sums[map.ShardOf(symbol)] += count;
  return sums;
}

TEST(PlanShards, BalancesASkewedMarketWithAShortList) {
  const RowsOfSymbols rows = Zipf(8'000);
  const ShardPlan plan = PlanShards(MapOf({}), rows);
  EXPECT_LT(ImbalanceOf(plan.rows_after), 0.01);
  EXPECT_LT(plan.symbols.size(), 100u);
  EXPECT_EQ(plan.rows_before, RowsByShard(MapOf({}), rows));
}

TEST(PlanShards, ItsMapHasThePlannedRows) {
  const RowsOfSymbols rows = Zipf(1'000);
  const ShardPlan plan = PlanShards(MapOf({{"S1", "a"}, {"S2", "a"}}), rows);
  EXPECT_EQ(plan.rows_after, RowsByShard(MapOf(plan.symbols), rows));
}

TEST(PlanShards, NamesNoSymbolThatTheHashPutsThere) {
  const ShardPlan plan = PlanShards(MapOf({}), Zipf(1'000));
  for (const auto& [symbol, shard] : plan.symbols) {
    EXPECT_NE(MapOf({}).shards()[MapOf({}).ShardOf(symbol)], shard) << symbol;
  }
}

TEST(PlanShards, NoRowsAreBalanced) {
  const ShardPlan plan = PlanShards(MapOf({}), {});
  EXPECT_TRUE(plan.symbols.empty());
  EXPECT_EQ(ImbalanceOf(plan.rows_after), 0);
}

TEST(PlanText, HasTheSectionsToPaste) {
  const ShardPlan plan{{{"SPY", "b"}, {"AAPL", "b"}}, {3000, 1000, 2000}, {2000, 2000, 2000}};
  const std::string text = PlanText(MapOf({}), plan);
  EXPECT_THAT(text, testing::HasSubstr("[[shard]]\nname = \"b\"\nsymbols = [\"AAPL\", \"SPY\"]\n"));
  EXPECT_THAT(text, testing::HasSubstr("# above mean              50.0%             0.0%\n"));
}

}  // namespace
}  // namespace tickstack::cli
