#include "rdb/placement_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/status.h"

namespace tickstack::rdb {
namespace {

PlacementRules Rules(std::initializer_list<std::pair<std::string_view, std::string_view>> keys) {
  PlacementRules rules;
  for (const auto& [key, tier] : keys) rules.Set(key, tier);
  return rules;
}

TEST(PlacementRules, PutEverythingIntoDramUnlessTheySayOtherwise) {
  const PlacementRules rules;
  EXPECT_EQ(rules.TierOfColumn("quote", "time"), "dram");
  EXPECT_EQ(rules.TierOfIndex("quote"), "dram");
  EXPECT_EQ(rules.TierOfQueries(), "dram");
}

TEST(PlacementRules, GoByTheMostTellingKey) {
  PlacementRules rules = Rules({{"default", "a"}});
  EXPECT_EQ(rules.TierOfColumn("quote", "time"), "a");
  EXPECT_EQ(rules.TierOfIndex("quote"), "a");
  EXPECT_EQ(rules.TierOfQueries(), "dram");
  rules.Set("quote", "b");
  EXPECT_EQ(rules.TierOfColumn("quote", "time"), "b");
  EXPECT_EQ(rules.TierOfIndex("quote"), "b");
  EXPECT_EQ(rules.TierOfColumn("trade", "time"), "a");
  rules.Set("index", "c");
  EXPECT_EQ(rules.TierOfIndex("quote"), "c");
  EXPECT_EQ(rules.TierOfIndex("trade"), "c");
  rules.Set("quote.index", "d");
  EXPECT_EQ(rules.TierOfIndex("quote"), "d");
  EXPECT_EQ(rules.TierOfIndex("trade"), "c");
  rules.Set("quote.time", "e");
  EXPECT_EQ(rules.TierOfColumn("quote", "time"), "e");
  EXPECT_EQ(rules.TierOfColumn("quote", "sym"), "b");
  rules.Set("query", "f");
  EXPECT_EQ(rules.TierOfQueries(), "f");
}

TEST(PlacementRules, KnowWhichTiersTheyUse) {
  const PlacementRules rules = Rules({{"default", "a"}, {"quote.time", "b"}, {"query", "c"}});
  for (const char* tier : {"a", "b", "c"}) EXPECT_TRUE(rules.Uses(tier)) << tier;
  EXPECT_FALSE(rules.Uses("dram"));
  EXPECT_TRUE(rules.HoldsRows("b"));
  EXPECT_FALSE(rules.HoldsRows("c"));
  EXPECT_TRUE(PlacementRules().HoldsRows("dram"));
  EXPECT_TRUE(Rules({{"default", "a"}}).Uses("dram"));  // Queries use it.
}

TEST(CheckPlacementKey, SaysWhatThereIsInsteadOfWhatAKeyNames) {
  const std::vector<Schema> schemas = {
      *ParseSchema("trade", "time p, sym s, price f"), *ParseSchema("odd", "index j, sym s"),
      *ParseSchema("log", "time p, text *"), *ParseSchema("query", "time p")};
  const auto error = [&](std::string_view key) {
    return std::string(Message(CheckPlacementKey(key, schemas)));
  };
  for (const char* key : {"default", "index", "trade", "trade.price", "trade.index", "odd",
                          "query.time", "log.text"}) {
    EXPECT_EQ(error(key), "") << key;
  }
  EXPECT_EQ(error("quote"),
            "no table \"quote\": expected default, index, query, or one of trade, odd, log, query");
  EXPECT_EQ(error("quote.time"), error("quote"));
  EXPECT_EQ(error("trade.size"),
            "table trade has no column \"size\": expected time, sym, price, or index");
  EXPECT_EQ(error("trade."), "table trade has no column \"\": expected time, sym, price, or index");
  EXPECT_EQ(error("trade.sym.x"),
            "table trade has no column \"sym.x\": expected time, sym, price, or index");
  EXPECT_EQ(error("odd.index"),
            "table odd has a column index, so this may be that or its index: name the column "
            "otherwise");
  EXPECT_EQ(error("log.index"),
            "table log has no index: expected a column sym of symbols in it, or a key");
  EXPECT_EQ(error("query"),
            "a table has this name as well: place its columns one by one, \"query.time\" ...");
}

TEST(Placement, GivesEachColumnItsTier) {
  const auto fast = mem::MakeDramTier("fast"), slow = mem::MakeDramTier("slow");
  const Placement placement(
      Rules({{"default", "slow"}, {"trade.sym", "fast"}, {"index", "fast"}, {"query", "slow"}}),
      {fast.get(), slow.get()});
  const TablePlacement of = placement.Of(*ParseSchema("trade", "time p, sym s, price f"));
  EXPECT_THAT(of.column, testing::ElementsAre(slow.get(), fast.get(), slow.get()));
  EXPECT_EQ(of.index, fast.get());
  EXPECT_EQ(placement.queries(), slow.get());
  const Placement all(fast.get());
  EXPECT_EQ(all.Of(*ParseSchema("trade", "time p")).column[0], fast.get());
  EXPECT_EQ(all.queries(), fast.get());
}

}  // namespace
}  // namespace tickstack::rdb
