#include "cli/source_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>

#include "base/status.h"
#include "feed/sources/lean_source.h"
#include "feed/sources/sim_source.h"

namespace tickstack::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const feed::SimOptions& Sim(const feed::SourceSettings& source) {
  return dynamic_cast<const feed::SimOptions&>(source.chosen());
}
const feed::LeanOptions& Lean(const feed::SourceSettings& source) {
  return dynamic_cast<const feed::LeanOptions&>(source.chosen());
}

absl::Status Read(std::string_view text, feed::SourceSettings& source) {
  const absl::StatusOr<Config> config = Config::Parse(text, "s.toml");
  if (!config.ok()) return config.status();
  TS_RETURN_IF_ERROR(ReadSource(config->root(), source));
  return config->CheckUnusedKeys();
}

std::string ErrorOf(std::string_view text) {
  feed::SourceSettings source;
  return std::string(Message(Read(text, source)));
}

TEST(ReadSource, ReadsTheOptionsThatTheKindLists) {
  feed::SourceSettings source;
  ASSERT_TRUE(Read("rate = 1000\nsymbols = 500\nseed = 7\n[[phase]]\nseconds = 2\nrate = 3\n"
                   "[[phase]]\nseconds = 4\n",
                   source)
                  .ok());
  EXPECT_EQ(Sim(source).rate, 1000);
  EXPECT_EQ(Sim(source).symbols, 500);
  EXPECT_EQ(Sim(source).seed, 7u);
  ASSERT_EQ(Sim(source).phases.size(), 2u);
  EXPECT_EQ(Sim(source).phases[1].seconds, 4);
  EXPECT_EQ(Sim(source).quotes_per_trade, 10);
}

// `symbols` is a number for the one kind and names for the other.
TEST(ReadSource, ReadsAKeyOfSeveralKindsForTheChosenOne) {
  feed::SourceSettings source;
  ASSERT_TRUE(
      Read("source = 'lean'\npath = 'ticks'\nsymbols = ['aig', 'bac']\nspeed = 2\nrate = 5", source)
          .ok());
  EXPECT_THAT(Lean(source).symbols, ElementsAre("aig", "bac"));
  EXPECT_EQ(Lean(source).speed, 2);
  EXPECT_EQ(Lean(source).path, "ticks");
}

constexpr std::string_view kItch = "source = 'itch'\npath = 'day'\n";

TEST(ReadSource, ReadsChangesOfTables) {
  feed::SourceSettings source;
  ASSERT_TRUE(Read(std::string(kItch) + "tables = ['trade']\n[map.trade]\nname = 'prints'\n"
                                        "drop = ['cond']\nrename = { price = 'px' }\n"
                                        "add = { desk = 'equities' }",
                   source)
                  .ok());
  const std::vector<Schema> schemas = source.chosen().Schemas();
  ASSERT_EQ(schemas.size(), 1u);
  EXPECT_EQ(FormatSchema(schemas.front()),
            "time p, sym s, px f, size j, side c, id j, seq j, recv p, venue s, channel s, desk s");
  EXPECT_EQ(schemas.front().table, "prints");
}

TEST(ReadSource, RefusesChangesThatCannotBeMade) {
  EXPECT_THAT(ErrorOf(std::string(kItch) + "[map.trade]\ndrop = ['px']"),
              HasSubstr("s.toml:3:1: map: map.trade.drop: column 'px', expected one of time,"));
  EXPECT_THAT(ErrorOf(std::string(kItch) + "[map.trade]\nrename = { price = 'count' }"),
              HasSubstr("count"));
  EXPECT_THAT(ErrorOf(std::string(kItch) + "[map.trade]\ndropp = ['price']"),
              HasSubstr("map.trade.dropp: unknown key, did you mean drop?"));
  EXPECT_THAT(ErrorOf(std::string(kItch) + "[map.trade]\nadd = { desk = 5 }"),
              HasSubstr("map.trade.add.desk: expected a string"));
}

TEST(ReadSource, SaysWhatIsWrong) {
  EXPECT_EQ(ErrorOf("source = 'nyse'"),
            "s.toml:1:10: source: expected sim, lean, tplog, itch, iex, lobster, pitch, dbn, "
            "tardis, taq, mdp3 or websocket, "
            "found \"nyse\"");
  EXPECT_THAT(ErrorOf("symbols = 0"),
              HasSubstr("s.toml:1:11: symbols: expected an integer from 1"));
  EXPECT_THAT(ErrorOf("symbols = ['aig']"), HasSubstr("s.toml:1:11: symbols: expected an integer"));
  EXPECT_THAT(ErrorOf("source = 'lean'\nsymbols = 5"), HasSubstr("s.toml:2:11: symbols: expected"));
  EXPECT_EQ(ErrorOf("rate = -1"), "s.toml:1:8: rate: expected a number from 0 on, found -1");
  EXPECT_THAT(ErrorOf("ratte = 1"), HasSubstr("unknown key"));
}

// The flags of a `tickstack feed`.
class SourceFlags : public testing::Test {
 protected:
  void Parse(const std::string& line) {
    CLI::App app;
    const std::function<void()> known = AddSourceFlags(app, source_);
    app.parse(line);
    known();
  }
  std::string ErrorOfFlags(const std::string& line) {
    try {
      Parse(line);
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return "";
  }
  feed::SourceSettings source_;
};

TEST_F(SourceFlags, SetTheOptionsOfTheChosenKind) {
  Parse("--symbols aig,bac --batch-rows 5 --source lean");
  EXPECT_THAT(Lean(source_).symbols, ElementsAre("aig", "bac"));
  EXPECT_EQ(Lean(source_).batch_rows, 5);
}

TEST_F(SourceFlags, WinOverTheConfiguration) {
  ASSERT_TRUE(Read("path = 'ticks'\nseed = 3\nsymbols = 9\n", source_).ok());
  Parse("--symbols 500");
  EXPECT_EQ(Sim(source_).symbols, 500);
  EXPECT_EQ(Sim(source_).seed, 3u);
  Parse("--source lean");
  EXPECT_EQ(Lean(source_).path, "ticks");  // What the file says about another kind is kept.
}

TEST_F(SourceFlags, SayWhatIsWrong) {
  EXPECT_EQ(ErrorOfFlags("--symbols aig"),
            "--symbols: expected a number from 1 to 65536, found \"aig\"");
  EXPECT_EQ(ErrorOfFlags("--symbols 0"),
            "--symbols: expected a number from 1 to 65536, found \"0\"");
  EXPECT_EQ(ErrorOfFlags("--rate=-1"), "--rate: expected a number from 0 on, found \"-1\"");
  EXPECT_THAT(ErrorOfFlags("--source nyse"), HasSubstr("--source"));
}

TEST_F(SourceFlags, SayInTheirHelpWhichKindsHaveThem) {
  CLI::App app;
  AddSourceFlags(app, source_);
  const std::string help = app.help();
  EXPECT_THAT(help, HasSubstr("sim: number of symbols; lean: folders of the symbols"));
  EXPECT_THAT(help, HasSubstr("--quotes-per-trade"));
  EXPECT_THAT(help, testing::Not(HasSubstr("--phase")));
}

}  // namespace
}  // namespace tickstack::cli
