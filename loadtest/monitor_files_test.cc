#include "loadtest/monitor_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::loadtest {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class MonitorFilesTest : public testing::Test {
 protected:
  ~MonitorFilesTest() override { std::filesystem::remove(path_); }
  void Write(std::string_view text) { std::ofstream(path_) << text; }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / fmt::format("monitor_files.{}", getpid())).string();
  StackResult stack_;
};

constexpr int64_t kBegin = 9'000 * kNsPerDay;

std::string Line(double seconds, std::string_view rest) {
  return fmt::format("{},{}\n", FormatTimestamp(kBegin + static_cast<int64_t>(seconds * 1e9)),
                     rest);
}

TEST_F(MonitorFilesTest, ReadsTimestampsAsTheyAreWritten) {
  const int64_t ns = kBegin + 12'345'678'901'234;
  EXPECT_EQ(ParseTimestamp(FormatTimestamp(ns)), ns);
  EXPECT_EQ(ParseTimestamp("2020.03.09D15:30:00.12345678x"), std::nullopt);
  EXPECT_EQ(ParseTimestamp("2020.03.09"), std::nullopt);
  EXPECT_EQ(ParseTimestamp(""), std::nullopt);
}

TEST_F(MonitorFilesTest, TakesTheSamplesOfTheRun) {
  Write(
      "time,query_ms,trade_time,trade_lag_ms,trade_rows,quote_rows,asof_ms,tier.dram.used,"
      "tier.far.used\n" +
      Line(-1, "9,a,9,100,1000,9,1,1") + Line(0.1, "2,a,9,100,1000,4,64,128") +
      Line(0.5, "2,b,3,105,1050,4,64,128") + Line(1.5, "3,c,4,,,,64,") + "2024");
  ASSERT_TRUE(AddMonitorSamples(path_, "rdb-1", kBegin, 1'100, 100, stack_).ok());
  ASSERT_EQ(stack_.samples.size(), 3u);
  EXPECT_EQ(stack_.samples[0].ms[kTradeLag], std::nullopt) << "of a row that was there before";
  EXPECT_EQ(stack_.samples[2].ms[kTradeLag], std::nullopt) << "perhaps the last row";
  const SampleRow& row = stack_.samples[1];
  EXPECT_EQ(row.rdb, "rdb-1");
  EXPECT_DOUBLE_EQ(row.time_s, 0.5);
  EXPECT_EQ(row.ms[kTradeLag], 3);
  EXPECT_EQ(row.ms[kQuoteLag], std::nullopt);
  EXPECT_EQ(row.ms[kQuery], 2);
  EXPECT_EQ(row.rows_captured, 55);
  EXPECT_EQ(row.tier_used.at("far"), 128);
  EXPECT_EQ(stack_.samples[2].rows_captured, std::nullopt);
  EXPECT_EQ(stack_.samples[2].tier_used.size(), 1u);
}

TEST_F(MonitorFilesTest, AThinnedRowHasTheWorstOfThoseThatItStandsFor) {
  std::string text = "time,query_ms,asof_ms\n";
  for (int i = 0; i < 10; ++i) text += Line(i, fmt::format("{},{}", i == 3 ? 99 : i, 10 - i));
  Write(text);
  ASSERT_TRUE(AddMonitorSamples(path_, "rdb", kBegin, 0, 3, stack_).ok());
  std::vector<double> times, queries, joins;
  for (const SampleRow& row : stack_.samples) {
    times.push_back(row.time_s);
    queries.push_back(row.ms[kQuery].value_or(-1));
    joins.push_back(row.ms[kAsof].value_or(-1));
  }
  EXPECT_THAT(times, ElementsAre(3, 7, 9));
  EXPECT_THAT(queries, ElementsAre(99, 7, 9));
  EXPECT_THAT(joins, ElementsAre(10, 6, 2));
}

TEST_F(MonitorFilesTest, PutsTheDistributionsOfMonitorsTogether) {
  Write(R"({"queries_per_minute": 200, "metrics": {
            "trade_lag": {"whole": {"counters_ns": [[1000, 2], [5000, 1]]},
                          "last_minute": {"counters_ns": [[5000, 1]]}},
            "trade_daily_lag": {"whole": {"counters_ns": []}, "last_minute": {"counters_ns": []}}}})");
  ASSERT_TRUE(AddMonitorSummary(path_, stack_).ok());
  ASSERT_TRUE(AddMonitorSummary(path_, stack_).ok());
  EXPECT_EQ(stack_.queries_per_minute, 400);
  EXPECT_EQ(stack_.measured[kTradeLag].whole.Count(), 6u);
  EXPECT_EQ(stack_.measured[kTradeLag].whole.Max(), 5000);
  EXPECT_EQ(stack_.measured[kTradeLag].last_minute.Count(), 2u);
  EXPECT_EQ(stack_.measured[kTradeBarLag].whole.Count(), 0u);
}

TEST_F(MonitorFilesTest, SaysWhatIsWrongWithAFile) {
  EXPECT_EQ(AddMonitorSummary(path_, stack_).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(AddMonitorSamples(path_, "rdb", 0, 0, 9, stack_).code(), absl::StatusCode::kNotFound);
  Write("{");
  EXPECT_THAT(Message(AddMonitorSummary(path_, stack_)), HasSubstr("expected an object"));
  Write(R"({"metrics": {"asof": {"whole": {}, "last_minute": {}}}})");
  EXPECT_THAT(Message(AddMonitorSummary(path_, stack_)), HasSubstr("asof: expected counters"));
}

}  // namespace
}  // namespace tickstack::loadtest
