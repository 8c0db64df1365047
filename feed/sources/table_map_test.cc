#include "feed/sources/table_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "feed/sources/market_rows.h"

namespace tickstack::feed {
namespace {

using testing::ElementsAre;

std::vector<Schema> SomeSchemas() {
  return {*ParseSchema("trade", "time p, sym s, price f, size j, cond s"),
          *ParseSchema("quote", "time p, sym s, bid f, ask f")};
}

std::string ErrorOf(const TableChange& change) {
  const auto mapped = MapTables(SomeSchemas(), std::span(&change, 1));
  return mapped.ok() ? "" : std::string(Message(mapped.status()));
}

TEST(TableMap, TablesWithoutAChangeStayAsTheyAre) {
  const auto mapped = MapTables(SomeSchemas(), {});
  ASSERT_TRUE(mapped.ok());
  ASSERT_EQ(mapped->size(), 2u);
  EXPECT_EQ((*mapped)[0].schema, SomeSchemas()[0]);
  EXPECT_EQ((*mapped)[1].schema, SomeSchemas()[1]);
  EXPECT_EQ(Describe({}), "");
}

TEST(TableMap, RenamesDropsAndAdds) {
  const TableChange change{.of = "trade",
                           .name = "prints",
                           .drop = {"cond"},
                           .rename = {{"price", "px"}, {"size", "price"}},
                           .add = {{"desk", "equities"}, {"cond", "new"}}};
  const auto mapped = MapTables(SomeSchemas(), std::span(&change, 1));
  ASSERT_TRUE(mapped.ok()) << mapped.status();
  const MappedTable& table = mapped->front();
  EXPECT_EQ(table.schema, *ParseSchema("prints", "time p, sym s, px f, price j, desk s, cond s"));
  EXPECT_EQ(table.of, "trade");
  EXPECT_THAT(table.kept, ElementsAre(true, true, true, true, false));
  EXPECT_THAT(table.added, ElementsAre("equities", "new"));
  EXPECT_NE(Describe(std::span(&change, 1)), "");
}

TEST(TableMap, ErrorsNameTableAndColumn) {
  EXPECT_EQ(ErrorOf({.of = "trades"}), "map: table 'trades', expected one of trade, quote");
  EXPECT_EQ(ErrorOf({.of = "trade", .name = "quote"}),
            "map: trade and quote would both be the table quote");
  EXPECT_EQ(ErrorOf({.of = "trade", .name = "1x"}),
            "map.trade.name: '1x', expected a name of letters, digits and _");
  EXPECT_EQ(ErrorOf({.of = "quote", .drop = {"price"}}),
            "map.quote.drop: column 'price', expected one of time, sym, bid, ask");
  EXPECT_EQ(ErrorOf({.of = "quote", .rename = {{"bid", "b d"}}}),
            "map.quote.rename: 'b d', expected a name of letters, digits and _");
  EXPECT_EQ(ErrorOf({.of = "quote", .rename = {{"bid", "ask"}}}),
            "map.quote: column ask would occur twice");
  EXPECT_EQ(ErrorOf({.of = "quote", .add = {{"ask", "x"}}}),
            "map.quote: column ask would occur twice");
  EXPECT_EQ(ErrorOf({.of = "quote", .drop = {"sym"}}),
            "map.quote.drop: sym keeps its place and name");
  EXPECT_EQ(ErrorOf({.of = "quote", .rename = {{"time", "t"}}}),
            "map.quote.rename: time keeps its place and name");
}

}  // namespace
}  // namespace tickstack::feed
