#include "aggengine/aggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "aggengine/bar_functions.h"
#include "base/status.h"
#include "base/time.h"
#include "table/keyed_table.h"

namespace tickstack::aggengine {
namespace {

using testing::HasSubstr;

const Schema& Table(std::string_view name) {
  static const std::vector<Schema> schemas = DefaultSchemas();
  return schemas[name == "trade" ? 0 : 1];
}

std::string SchemaText(std::string_view table, int64_t width_ns, std::string_view text) {
  BarSpec spec{"bars", std::string(table), width_ns, {*ParseAggregate("x", text)}};
  const absl::StatusOr<Schema> schema = SchemaOf(spec, Table(table));
  return schema.ok() ? FormatSchema(*schema) : std::string(Message(schema.status()));
}

TEST(Aggregate, ReadsWhatTheDocumentationHas) {
  const Aggregate open = *ParseAggregate("open", "first price");
  EXPECT_EQ(open.name, "open");
  EXPECT_EQ(open.function->word, "first");
  EXPECT_EQ(open.x, (Operand{"price", ""}));
  const Aggregate vwap = *ParseAggregate("vwap", "size wavg price");
  EXPECT_EQ(vwap.function->word, "wavg");
  EXPECT_EQ(vwap.weight, (Operand{"size", ""}));
  EXPECT_EQ(vwap.x, (Operand{"price", ""}));
  const Aggregate spread = *ParseAggregate("spread", " twavg  ask - bid ");
  EXPECT_EQ(spread.function->word, "twavg");
  EXPECT_EQ(spread.x, (Operand{"ask", "bid"}));
  EXPECT_EQ(ParseAggregate("n", "count")->function->word, "count");
  EXPECT_EQ(ParseAggregate("a", "first first")->x, (Operand{"first", ""}));
  EXPECT_EQ(ParseAggregate("a", "bsize-asize wavg bid")->weight, (Operand{"bsize", "asize"}));
}

TEST(Aggregate, NamesWhatItFoundAndExpected) {
  for (const std::string_view text :
       {"", "first", "count price", "median price", "first price size", "wavg price", "size wavg",
        "first -price", "first ask-", "first ask-bid-mid", "first price;", "sum 2*price"}) {
    const absl::StatusOr<Aggregate> read = ParseAggregate("x", text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(std::string(Message(read.status())), HasSubstr("expected `count`")) << text;
    EXPECT_THAT(std::string(Message(read.status())), HasSubstr("found \"" + std::string(text)))
        << text;
  }
}

TEST(Aggregate, HasTheTypeThatQGives) {
  EXPECT_EQ(SchemaText("trade", kNsPerDay, "first size"), "sym s, date d | time p, x i");
  EXPECT_EQ(SchemaText("trade", 60 * kNsPerSecond, "sum size"), "sym s, minute p | time p, x j");
  EXPECT_EQ(SchemaText("trade", 5 * kNsPerSecond, "avg size"), "sym s, start p | time p, x f");
  EXPECT_EQ(SchemaText("trade", 3600 * kNsPerSecond, "last time"), "sym s, start p | time p, x p");
  EXPECT_EQ(SchemaText("trade", kNsPerDay, "last cond"), "sym s, date d | time p, x c");
  EXPECT_EQ(SchemaText("quote", kNsPerDay, "sum bsize-asize"), "sym s, date d | time p, x j");
  EXPECT_EQ(SchemaText("quote", kNsPerDay, "twavg ask-bid"), "sym s, date d | time p, x f");
}

// kdb+tick's classic tables have times of day.
TEST(Aggregate, TimesOfDayStayTimesOfDay) {
  const Schema source = *ParseSchema("trade", "time n, sym s, price f, size i");
  std::vector<std::string> texts;
  for (const BarSpec& spec : DefaultBars({&source, 1})) {
    texts.push_back(FormatSchema(*SchemaOf(spec, source)));
  }
  const std::string rest = "time n, open f, high f, low f, close f, volume j, vwap f, trades j";
  EXPECT_THAT(texts, testing::ElementsAre("sym s, minute n | " + rest, "sym s, start n | " + rest));
}

TEST(Aggregate, IsRefusedWhereTheColumnsAreNot) {
  EXPECT_THAT(SchemaText("trade", kNsPerDay, "first bid"), HasSubstr("x: no column bid"));
  EXPECT_THAT(SchemaText("trade", kNsPerDay, "first sym"), HasSubstr("x: column sym is a symbol"));
  EXPECT_THAT(SchemaText("trade", kNsPerDay, "sum time"),
              HasSubstr("x: column time is a timestamp, expected a number"));
  EXPECT_THAT(SchemaText("trade", kNsPerDay, "cond wavg price"),
              HasSubstr("column cond is a char"));
  EXPECT_THAT(SchemaText("trade", kNsPerDay, "max price-cond"), HasSubstr("expected numbers"));
  const BarSpec twice{"bars", "trade", kNsPerDay, {*ParseAggregate("time", "count")}};
  EXPECT_THAT(std::string(Message(SchemaOf(twice, Table("trade")).status())),
              HasSubstr("two columns"));
  const BarSpec spec{"bars", "t", kNsPerDay, {*ParseAggregate("n", "count")}};
  EXPECT_THAT(
      std::string(Message(SchemaOf(spec, *ParseSchema("t", "time t, sym s")).status())),
      HasSubstr("expected columns time p (or n) and sym s and no key, found time t, sym s"));
}

TEST(Aggregate, TheDefaultBarsAreThoseOfTheDesign) {
  const std::vector<BarSpec> bars = DefaultBars(DefaultSchemas());
  std::vector<std::string> texts;
  for (const BarSpec& spec : bars) {
    const Schema schema = *SchemaOf(spec, Table(spec.table));
    EXPECT_TRUE(CheckKeyedSchema(schema).ok());
    texts.push_back(schema.table + ": " + FormatSchema(schema));
  }
  const std::string trade = "time p, open f, high f, low f, close f, volume j, vwap f, trades j";
  const std::string quote = "time p, bid f, ask f, high_bid f, low_ask f, spread f, quotes j";
  EXPECT_THAT(texts, testing::ElementsAre("trade_minute: sym s, minute p | " + trade,
                                          "trade_daily: sym s, date d | " + trade,
                                          "quote_minute: sym s, minute p | " + quote,
                                          "quote_daily: sym s, date d | " + quote));
}

TEST(Aggregate, DefaultBarsNeedTheirColumns) {
  const std::vector<Schema> schemas = {*ParseSchema("trade", "time p, sym s, price f"),
                                       *ParseSchema("quote", "time p, sym s, bid f, ask e")};
  std::vector<std::string> names;
  std::vector<std::string> left_out;
  for (const BarSpec& spec : DefaultBars(schemas, &left_out)) names.push_back(spec.name);
  EXPECT_THAT(names, testing::ElementsAre("quote_minute", "quote_daily"));
  EXPECT_THAT(left_out,
              testing::ElementsAre(HasSubstr("no bars trade_minute: volume: no column size, "
                                             "table trade has time p, sym s, price f"),
                                   HasSubstr("no bars trade_daily: ")));
}

}  // namespace
}  // namespace tickstack::aggengine
