#include "cli/bars_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"
#include "base/time.h"
#include "cli/stack_config.h"

namespace tickstack::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

StackConfig Parsed(std::string_view text) {
  absl::StatusOr<StackConfig> config = ParseStackConfig(text, "s.toml");
  EXPECT_TRUE(config.ok()) << config.status();
  return config.ok() ? *std::move(config) : StackConfig();
}

std::string ErrorOf(std::string_view text) {
  return std::string(Message(ParseStackConfig(text, "s.toml").status()));
}

std::vector<std::string> TablesOf(const std::vector<Schema>& schemas) {
  std::vector<std::string> names;
  for (const Schema& schema : schemas) names.push_back(schema.table);
  return names;
}

TEST(BarsConfig, ASectionIsEnoughForTheDefaultBars) {
  const StackConfig config = Parsed("[tickerplant]\n[[rdb]]\n[aggengine]\n[monitor]\n");
  ASSERT_TRUE(config.aggengine.has_value());
  EXPECT_EQ(config.aggengine->bars.size(), 4u);
  EXPECT_EQ(config.aggengine->tickerplant, "tickerplant");
  EXPECT_EQ(config.aggengine->publish_ms, 0);
  EXPECT_EQ(config.aggengine->state.name, "dram");
  EXPECT_EQ(config.aggengine->history_bytes, 0u);
  EXPECT_THAT(
      TablesOf(config.tickerplant->schemas),
      ElementsAre("trade", "quote", "trade_minute", "trade_daily", "quote_minute", "quote_daily"));
  EXPECT_EQ(config.tickerplant->schemas[2].key_columns, 2u);
  EXPECT_THAT(config.monitors.front().bars, ElementsAre("trade_daily", "quote_daily"));
}

TEST(BarsConfig, WithoutASectionThereAreNone) {
  const StackConfig config = Parsed("[tickerplant]\n[monitor]\n");
  EXPECT_FALSE(config.aggengine.has_value());
  EXPECT_EQ(config.tickerplant->schemas.size(), 2u);
  EXPECT_TRUE(config.monitors.front().bars.empty());
}

TEST(BarsConfig, ThreeLinesAreBarsOfAnotherWidth) {
  const StackConfig config = Parsed(R"(
[tickerplant]
[aggengine]
name = "bars"
port = 5014
publish_ms = 100
publish_gap_ms = 5
default_bars = false
history_bytes = "1GiB"
[[aggengine.bars]]
name = "trade_5s"
table = "trade"
width = "5s"
[[aggengine.bars]]
name = "quote_hour"
table = "quote"
width = "1h"
mid = "avg bid"
n = "count"
)");
  const aggengine::AggEngineMainOptions& options = *config.aggengine;
  EXPECT_EQ(options.name, "bars");
  EXPECT_EQ(options.listener.port, 5014);
  EXPECT_EQ(options.publish_ms, 100);
  EXPECT_EQ(options.publish_gap_ms, 5);
  EXPECT_EQ(options.history_bytes, size_t{1} << 30);
  ASSERT_EQ(options.bars.size(), 2u);
  EXPECT_EQ(options.bars[0].width_ns, 5 * kNsPerSecond);
  EXPECT_EQ(options.bars[0].aggregates.size(), 7u);
  EXPECT_THAT(TablesOf(config.schemas), ElementsAre("trade", "quote", "trade_5s", "quote_hour"));
  EXPECT_EQ(FormatSchema(config.schemas[3]), "sym s, start p | time p, mid f, n j");
}

TEST(BarsConfig, ATableOfTimesOfDayHasThemToo) {
  const StackConfig config =
      Parsed("[tables]\ntrade = 'time n, sym s, price f, size j'\n[tickerplant]\n[aggengine]\n");
  EXPECT_THAT(TablesOf(config.schemas), ElementsAre("trade", "trade_minute", "trade_daily"));
  EXPECT_THAT(config.warnings, ElementsAre());
}

TEST(BarsConfig, SaysWhichDefaultBarsThereAreNot) {
  const StackConfig config = Parsed(
      "[tables]\ntrade = 'time p, sym s, price f, size j'\nquote = 'time t, sym s, bid f, ask f'\n"
      "[tickerplant]\n[aggengine]\n");
  EXPECT_THAT(TablesOf(config.schemas),
              ElementsAre("trade", "quote", "trade_minute", "trade_daily"));
  EXPECT_THAT(config.warnings,
              ElementsAre(testing::AllOf(
                              HasSubstr("s.toml:5:1: aggengine.default_bars: no bars quote_minute"),
                              HasSubstr("expected columns time p (or n) and sym s and no "
                                        "key, found time t, sym s, bid f, ask f")),
                          HasSubstr("no bars quote_daily")));
}

TEST(BarsConfig, ATableOfTheFileMayBeTheirs) {
  const StackConfig config = Parsed(R"(
[tables]
deal = "time p, sym s, paid f"
deals = "sym s, minute p | time p, top f"
[tickerplant]
[aggengine]
[[aggengine.bars]]
name = "deals"
table = "deal"
width = "1m"
top = "max paid"
)");
  EXPECT_THAT(TablesOf(config.schemas), ElementsAre("deal", "deals"));
}

TEST(BarsConfig, NamesKeyFoundAndExpected) {
  const auto bar = [](std::string_view lines) {
    return ErrorOf(fmt::format("[tickerplant]\n[aggengine]\n[[aggengine.bars]]\n{}", lines));
  };
  EXPECT_THAT(bar("name='b'\ntable='trade'\nwidth='2d'\n"),
              HasSubstr("s.toml:6:7: aggengine.bars[0].width: expected 1ms to 1d"));
  EXPECT_THAT(bar("name='b'\ntable='trade'\n"),
              HasSubstr("width: expected it beside the other two"));
  EXPECT_THAT(bar("name='b'\ntable='news'\nwidth='1m'\n"),
              HasSubstr("table: expected trade or quote, or columns such as"));
  EXPECT_THAT(bar("name='b'\ntable='news'\nwidth='1m'\nn='count'\n"),
              HasSubstr("table: expected one of the tables trade, quote, found \"news\""));
  EXPECT_THAT(bar("name='b'\ntable='trade'\nwidth='1m'\n''='count'\n"),
              HasSubstr("expected a column's name of letters, digits and _, a letter first, found "
                        "\"\""));
  EXPECT_THAT(bar("name='b'\ntable='trade'\nwidth='1m'\n'a b'='count'\n"),
              HasSubstr("s.toml:7:7: aggengine.bars[0].a b: expected a column's name of letters"));
  EXPECT_THAT(bar("name='b'\ntable='trade'\nwidth='1m'\nm='median price'\n"),
              HasSubstr("s.toml:7:3: aggengine.bars[0].m: expected `count`"));
  EXPECT_THAT(bar("name='b'\ntable='trade'\nwidth='1m'\nm='sum bid'\n"),
              HasSubstr("m: no column bid, table trade has time p"));
  EXPECT_THAT(bar("name='quote'\ntable='trade'\nwidth='1m'\n"),
              HasSubstr("name: table quote is there already: expected \"sym s, minute p | time p"));
  EXPECT_THAT(bar("name='trade_minute'\ntable='trade'\nwidth='1m'\n"),
              HasSubstr("name: expected a name that no other bars have"));
  EXPECT_THAT(ErrorOf("[tables]\nt = 'time p, sym s'\n[aggengine]\n"),
              HasSubstr("aggengine.bars: expected [[aggengine.bars]]"));
  EXPECT_THAT(ErrorOf("[aggengine]\npublish = 3\n"), HasSubstr("publish: unknown key"));
}

TEST(BarsConfig, TheStateHasAPlacement) {
  const StackConfig config = Parsed(R"(
[tier.slow]
kind = "filesystem"
path = "/mnt/slow"
size = "1GiB"
[tickerplant]
[[rdb]]
[aggengine]
[aggengine.tier.slow]
size = "2GiB"
[aggengine.placement]
state = "slow"
)");
  EXPECT_EQ(config.aggengine->state.name, "slow");
  EXPECT_EQ(config.aggengine->state.kind, mem::TierKind::kFilesystem);
  EXPECT_EQ(config.aggengine->state.capacity_bytes, size_t{2} << 30);
  EXPECT_TRUE(config.warnings.empty()) << config.warnings.front();

  EXPECT_THAT(
      ErrorOf("[aggengine]\n[aggengine.placement]\nstate = 'fast'\n"),
      HasSubstr("s.toml:3:9: aggengine.placement.state: expected one of the tiers dram, found "
                "\"fast\""));
  EXPECT_THAT(ErrorOf("[tier.p]\nkind='persistent'\npath='/x'\nsize='1GiB'\n[aggengine]\n"
                      "[aggengine.placement]\nstate = 'p'\n"),
              HasSubstr("aggengine.placement.state: tier p is persistent"));
  EXPECT_THAT(ErrorOf("[aggengine]\n[aggengine.placement]\nindex = 'dram'\n"),
              HasSubstr("index: unknown key"));
}

}  // namespace
}  // namespace tickstack::cli
