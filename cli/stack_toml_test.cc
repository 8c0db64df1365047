// Reads what loadtest/stack_toml.h writes, as the processes will.

#include "loadtest/stack_toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "cli/stack_config.h"
#include "feed/sources/sim_source.h"

namespace tickstack::cli {
namespace {

using loadtest::ParsePlacement;
using loadtest::Profile;
using loadtest::StackSettings;
using testing::ElementsAre;
using testing::HasSubstr;

StackSettings Settings() {
  StackSettings settings;
  settings.name = "dram-1";
  settings.batch_ms = 1000;
  settings.query_ms = 20;
  settings.prestress = {6'500, 850};
  settings.tier_path = "/dev/shm";
  settings.profile.seconds = 60;
  settings.profile.seed = 7;
  return settings;
}

StackConfig Made(std::string_view placement, const StackSettings& settings = Settings()) {
  const absl::StatusOr<loadtest::StackToml> made =
      loadtest::MakeStackToml(*ParsePlacement(placement), settings);
  EXPECT_TRUE(made.ok()) << made.status();
  if (!made.ok()) return {};
  const absl::StatusOr<StackConfig> config = ParseStackConfig(made->text, "made.toml");
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << made->text;
  return config.value_or(StackConfig());
}

const feed::SimOptions& SimOf(const StackConfig& config) {
  return dynamic_cast<const feed::SimOptions&>(config.feeds.front().source.chosen());
}

TEST(StackToml, IsAStackWithAMonitorForEachRdb) {
  const StackConfig config = Made("dram:2");
  EXPECT_EQ(config.name, "dram-1");
  EXPECT_FALSE(config.restart);
  EXPECT_EQ(config.tickerplant->batch_ms, 1000);
  // 48,000 rows of some 50 bytes wait for the timer; a bound of 1 MiB would publish earlier.
  EXPECT_GT(config.tickerplant->batch_bytes, 48'000u * 100);
  EXPECT_THAT(config.tickerplant->at_once,
              ElementsAre("trade_minute", "trade_daily", "quote_minute", "quote_daily"));
  ASSERT_EQ(config.rdbs.size(), 2u);
  ASSERT_NE(config.rdbs[1].prestress, nullptr);
  EXPECT_EQ(config.rdbs[1].prestress->rows(), 7'350);
  ASSERT_EQ(config.monitors.size(), 2u);
  EXPECT_EQ(config.monitors[1].rdb, "rdb-2");
  EXPECT_EQ(config.monitors[1].query_ms, 20);
  EXPECT_EQ(config.monitors[1].feed, "");
  EXPECT_EQ(config.monitors[1].asof_symbol, loadtest::AsofSymbol(Profile()));
  EXPECT_EQ(SimOf(config).seed, 7u);
  EXPECT_EQ(SimOf(config).seconds, 60);
  EXPECT_EQ(SimOf(config).rate, 48'000);
}

TEST(StackToml, PutsEverythingIntoTheTierOfItsPlacement) {
  const StackConfig config = Made("filesystem:/dev/shm");
  const rdb::RdbMainOptions& rdb = config.rdbs.front();
  EXPECT_EQ(rdb.tiers.back().options.kind, mem::TierKind::kFilesystem);
  EXPECT_EQ(rdb.placement.TierOfTheRest(), rdb.tiers.back().options.name);
  EXPECT_GT(rdb.tiers.back().options.capacity_bytes, loadtest::BytesOfRows(Settings().prestress));
  const StackConfig persistent = Made("persistent:/dev/shm");
  EXPECT_TRUE(persistent.aggengine.has_value());
  EXPECT_EQ(persistent.rdbs.front().placement.TierOfColumn("trade_daily", "high"), "dram");
  EXPECT_EQ(persistent.rdbs.front().placement.TierOfColumn("quote", "bid"),
            persistent.rdbs.front().placement.TierOfTheRest());
  EXPECT_EQ(Made("numa:0").rdbs.front().tiers.back().options.nodes, std::vector<int>{0});
}

TEST(StackToml, GivesTheMonitorsTheirClients) {
  StackSettings settings = Settings();
  EXPECT_EQ(Made("dram", settings).monitors.front().queries, "monitor");
  settings.queries_file = "examples/queries.toml";
  settings.symbols_file = "/tmp/symbols.csv";
  const StackConfig config = Made("dram:2", settings);
  for (const monitor::MonitorOptions& monitor : config.monitors) {
    EXPECT_EQ(monitor.queries, "examples/queries.toml");
    EXPECT_EQ(monitor.symbols, "/tmp/symbols.csv");
    EXPECT_TRUE(monitor.queries_wait);
  }
  Profile profile;
  profile.symbols = 3;
  const std::string weights = loadtest::SymbolWeights(profile);
  EXPECT_THAT(weights, HasSubstr(",1\n"));
  EXPECT_THAT(weights, HasSubstr(",0.5\n"));
  EXPECT_THAT(weights, testing::EndsWith(",0.333333333\n"));
}

TEST(StackToml, KeepsTheShapeOfTheProfile) {
  StackSettings settings = Settings();
  settings.profile = *loadtest::LoadProfile("bursts");
  const StackConfig config = Made("dram", settings);
  ASSERT_EQ(SimOf(config).phases.size(), 2u);
  EXPECT_EQ(SimOf(config).phases[1].rate, 120'000);
}

TEST(StackToml, TakesTiersAndPlacementOfAFile) {
  const StackConfig config = Made("hybrid:examples/hybrid.toml:3");
  ASSERT_EQ(config.rdbs.size(), 3u);
  EXPECT_EQ(config.rdbs[2].placement.TierOfColumn("quote", "time"), "dram");
  EXPECT_EQ(config.rdbs[2].placement.TierOfColumn("quote", "bid"), "pmem");
  const absl::StatusOr<loadtest::StackFile> file = loadtest::ReadStackFile("examples/hybrid.toml");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->smallest_tier_bytes, uint64_t{48} << 20);
}

TEST(StackToml, RunsTheStackOfAFile) {
  const StackConfig config = Made("examples/stack.toml");
  ASSERT_EQ(config.rdbs.size(), 1u);
  EXPECT_EQ(config.monitors.front().rdb, config.rdbs.front().name);
  EXPECT_EQ(SimOf(config).seconds, 60);
  EXPECT_FALSE(config.hdb.has_value());
  EXPECT_FALSE(config.rdbs.front().end_of_day.has_value());
  EXPECT_FALSE(config.restart);
}

TEST(StackToml, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(loadtest::MakeStackToml(*ParsePlacement("none.toml"), Settings()).status().code(),
            absl::StatusCode::kNotFound);
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("stack_toml.{}.toml", getpid()))
          .string();
  std::ofstream(path) << "[tickerplant]\nbatch_ms = \n";
  EXPECT_THAT(Message(loadtest::MakeStackToml(*ParsePlacement(path), Settings()).status()),
              HasSubstr(path + ":2: "));
  std::ofstream(path) << "[tickerplant]\n";
  EXPECT_THAT(Message(loadtest::MakeStackToml(*ParsePlacement(path), Settings()).status()),
              HasSubstr("expected an [[rdb]], found none"));
  std::filesystem::remove(path);
}

TEST(StackToml, TouchesMemoryFirstInTheTierOfTheRowsAndOfTheBars) {
  const auto touched = [](std::string_view placement, std::string_view tier) -> size_t {
    StackSettings settings = Settings();
    settings.rdb_touch_bytes = size_t{3} << 30;
    settings.aggengine_touch_bytes = size_t{1} << 30;
    const StackConfig config = Made(placement, settings);
    EXPECT_EQ(config.aggengine->state.touch_first_bytes, size_t{1} << 30);
    for (const rdb::TierConfig& of_rdb : config.rdbs.front().tiers) {
      if (of_rdb.options.name == tier) return of_rdb.options.touch_first_bytes;
    }
    return 0;
  };
  EXPECT_EQ(touched("dram", "dram"), size_t{3} << 30);
  EXPECT_EQ(touched("filesystem:/dev/shm", "second"), size_t{3} << 30);
  EXPECT_EQ(touched("filesystem:/dev/shm", "dram"), 0u);
}

}  // namespace
}  // namespace tickstack::cli
