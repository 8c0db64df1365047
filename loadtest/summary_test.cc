#include "loadtest/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/human_text.h"
#include "base/time.h"
#include "loadtest/find_max.h"
#include "loadtest/paper_tests.h"

namespace tickstack::loadtest {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

StackResult MakeStack(const std::string& placement, int64_t lag_ms) {
  StackResult stack;
  stack.spec = NameStacks({*ParsePlacement(placement)}).front();
  stack.rdbs = 1;
  TableResult& quotes = stack.tables["quote"];
  quotes.offered = quotes.logged = quotes.captured = 100;
  quotes.checksum = 0xabc;
  for (int i = 1; i <= 100; ++i) {
    stack.measured[kQuoteLag].whole.Record(lag_ms * i * 10'000);
    stack.measured[kQuoteLag].last_minute.Record(lag_ms * i * 10'000);
  }
  stack.queries_per_minute = 200;
  stack.offered_per_s = stack.logged_per_s = stack.captured_per_s = 48'000;
  stack.tiers["dram"].kind = "dram";
  stack.tiers["dram"].used = 1 << 20;
  if (placement != "dram") {
    stack.tiers["second"].kind = "filesystem";
    stack.tiers["second"].used = 3 << 20;
  }
  ProcessResult& rdb = stack.processes["rdb-1"];
  rdb.role = "rdb";
  rdb.rss_bytes_max = 5 << 20;
  rdb.used.cpu_s = 2;
  rdb.share = ProcessShare{6 << 20, 1 << 20, 2 << 20, 3 << 20};
  stack.processes["feed"].role = "feed";
  SampleRow row;
  row.rdb = "rdb-1";
  row.time_s = 1.5;
  row.ms[kQuoteLag] = 7.25;
  row.rows_captured = 99;
  row.tier_used["dram"] = 1024;
  stack.samples = {row};
  return stack;
}

RunResult MakeRun() {
  RunResult run;
  run.command = "tickstack loadtest \"march2020\"";
  run.begin_ns = 9'564 * kNsPerDay + 3 * kNsPerSecond;
  TestResult& test = run.tests.emplace_back();
  test.spec.name = "50/300";
  test.spec.query_ms = 300;
  test.stacks = {MakeStack("dram", 10), MakeStack("filesystem:/mnt/a,b", 20)};
  return run;
}

TEST(Summary, HasWhatTheReportReads) {
  const nlohmann::json json = nlohmann::json::parse(SummaryJson(MakeRun()));
  EXPECT_EQ(json["format"], 1);
  EXPECT_EQ(json["outcome"], "ok");
  EXPECT_EQ(json["begin"], "2026-03-09T00:00:03Z");
  EXPECT_EQ(json["profile"]["updates_per_s"], 48'000);
  const auto& stack = json["tests"][0]["stacks"][1];
  EXPECT_EQ(stack["name"], "filesystem-1");
  EXPECT_EQ(stack["placement"], "filesystem:/mnt/a,b");
  EXPECT_EQ(stack["simulated"], false);
  RunResult slow = MakeRun();
  slow.tests[0].stacks[1].simulated = true;
  EXPECT_EQ(nlohmann::json::parse(SummaryJson(slow))["tests"][0]["stacks"][1]["simulated"], true);
  EXPECT_THAT(SummaryCsv(slow), HasSubstr(",true,,,,,,,\n"));
  EXPECT_THAT(SideBySide(slow.tests[0]), HasSubstr("SIMULATED"));
  EXPECT_THAT(SideBySide(MakeRun().tests[0]), testing::Not(HasSubstr("SIMULATED")));
  EXPECT_EQ(stack["rows"]["quote"]["checksum"], "0000000000000abc");
  const auto& lag = stack["metrics"]["quote_lag"];
  EXPECT_EQ(lag["whole"]["count"], 100);
  EXPECT_NEAR(lag["whole"]["p99_ms"].get<double>(), 19.8, 0.02);
  EXPECT_DOUBLE_EQ(lag["whole"]["max_ms"].get<double>(), 20);
  uint64_t counted = 0;
  for (const auto& counter : lag["histogram"]) counted += counter[1].get<uint64_t>();
  EXPECT_EQ(counted, 100u);
  EXPECT_TRUE(stack["metrics"]["asof"]["whole"]["p50_ms"].is_null());
  EXPECT_EQ(stack["tiers"]["second"]["used"], 3 << 20);
  EXPECT_TRUE(stack["tiers"]["second"]["capacity"].is_null());
  EXPECT_EQ(stack["processes"]["rdb-1"]["rss_max"], 5 << 20);
  EXPECT_EQ(stack["processes"]["rdb-1"]["pss_max"], 6 << 20);
  EXPECT_EQ(stack["processes"]["rdb-1"]["pss_file"], 2 << 20);
  EXPECT_TRUE(stack["processes"]["feed"]["pss_max"].is_null());
  EXPECT_FALSE(json.contains("find_max"));
}

TEST(Summary, AFailureIsInItWithItsReason) {
  RunResult run = MakeRun();
  run.failure = run.tests[0].failure = run.tests[0].stacks[1].failure = "rdb-1 died";
  const nlohmann::json json = nlohmann::json::parse(SummaryJson(run));
  EXPECT_EQ(json["outcome"], "failed");
  EXPECT_EQ(json["reason"], "rdb-1 died");
  EXPECT_EQ(json["tests"][0]["stacks"][0]["outcome"], "ok");
  EXPECT_EQ(json["tests"][0]["stacks"][1]["outcome"], "failed");
}

TEST(Summary, CsvHasALineForEachStack) {
  const std::string csv = SummaryCsv(MakeRun());
  EXPECT_THAT(csv, StartsWith("test,stack,placement,rdbs,outcome,tickerplant_ms,query_ms,"));
  EXPECT_THAT(csv, HasSubstr("\n50/300,dram-1,dram,1,ok,50,300,10.000000,1048576,,200.0,"));
  EXPECT_THAT(csv, HasSubstr("\n50/300,filesystem-1,\"filesystem:/mnt/a,b\",1,ok,"));
  const size_t columns = static_cast<size_t>(
      std::count(csv.begin(), csv.begin() + static_cast<ptrdiff_t>(csv.find('\n')), ','));
  EXPECT_EQ(columns, 14u + 4 * kMetrics + 4 + 7);
}

TEST(Summary, TheLongestLatencyIsOfRowsAndOfBars) {
  RunResult run = MakeRun();
  Histogram& bars = run.tests[0].stacks[0].measured[kQuoteBarLag].last_minute;
  bars.Record(9'000'000);
  EXPECT_THAT(SummaryCsv(run), HasSubstr("\n50/300,dram-1,dram,1,ok,50,300,10.000000,"));
  bars.Record(11'000'000);
  EXPECT_THAT(SummaryCsv(run), HasSubstr("\n50/300,dram-1,dram,1,ok,50,300,11.000000,"));
}

TEST(Summary, SamplesHaveAColumnForEachTier) {
  const std::string csv = SamplesCsv(MakeRun());
  EXPECT_THAT(csv, StartsWith("test,stack,rdb,time_s,trade_lag_ms,quote_lag_ms,trade_bar_lag_ms,"
                              "quote_bar_lag_ms,asof_ms,query_ms,rows_captured,rss_bytes,cpu_s,"
                              "tier.dram.used,tier.second.used\n"));
  EXPECT_THAT(csv, HasSubstr("\n50/300,dram-1,rdb-1,1.500,,7.250000,,,,,99,,,1024,\n"));
}

TEST(Summary, TheTableSetsStacksBesideTheFirst) {
  const std::string table = SideBySide(MakeRun().tests[0]);
  EXPECT_THAT(table, HasSubstr("quote p99"));
  EXPECT_THAT(table, HasSubstr("x2.00"));
  EXPECT_THAT(table, HasSubstr("in other tiers"));
}

// Goal: the terminal judges as the report does. There are 100 values.
TEST(Summary, TheTableMarksWhatChanceDecides) {
  TestResult test = MakeRun().tests[0];
  const auto line_of = [&test](const std::string& label) {
    const std::string table = SideBySide(test);
    const size_t begin = table.find(label);
    return table.substr(begin, table.find('\n', begin) - begin);
  };
  EXPECT_THAT(line_of("quote p50"), HasSubstr("x2.00"));
  EXPECT_THAT(line_of("quote p50"), testing::Not(HasSubstr("(")));
  EXPECT_THAT(line_of("quote p99"), HasSubstr("ms)"));
  EXPECT_THAT(line_of("quote p99"), testing::Not(HasSubstr("x2.00")));
  EXPECT_THAT(line_of("quote max"), HasSubstr("x2.00"));
  EXPECT_THAT(SideBySide(test), HasSubstr("(in brackets: too few values"));
  for (StackResult& stack : test.stacks) {
    for (int i = 1; i <= 1000; ++i) stack.measured[kQuoteLag].whole.Record(i * 10'000);
  }
  EXPECT_THAT(line_of("quote p99"), testing::Not(HasSubstr("(")));
  EXPECT_THAT(SideBySide(test), testing::Not(HasSubstr("brackets")));

  EXPECT_THAT(SideBySide(test), testing::Not(HasSubstr("tmpfs")));
  test.stacks[1].tiers["second"].filesystem = "tmpfs";
  EXPECT_THAT(SideBySide(test), HasSubstr("DRAM (tmpfs)"));
  test.stacks[1].simulated = true;
  EXPECT_THAT(SideBySide(test), testing::Not(HasSubstr("tmpfs")));
}

TEST(Summary, ANoisyMachineIsNamed) {
  Histogram relay;
  for (int i = 0; i < 1000; ++i) relay.Record(100'000);
  EXPECT_THAT(RelayComparison(relay), testing::Not(HasSubstr("NOISY")));
  for (int i = 0; i < 20; ++i) relay.Record(12'000'000);
  EXPECT_THAT(RelayComparison(relay), HasSubstr("NOISY MACHINE"));
}

TEST(Summary, SaysThatRowsAreEqual) {
  EXPECT_EQ(EqualRows(MakeRun().tests[0]),
            "100 of quote: offered, logged and captured are equal, and the same rows in 2 rdbs");
}

TEST(Matrix, IsThePapers) {
  const Placement second = *ParsePlacement("filesystem:/dev/shm:3");
  const absl::StatusOr<std::vector<TestSpec>> one = MakeMatrix("paper-test1", {}, second);
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->size(), 4u);
  EXPECT_EQ((*one)[2].name, "1000/50");
  ASSERT_EQ((*one)[2].stacks.size(), 4u);
  EXPECT_EQ((*one)[2].stacks[3].name, "filesystem-2");
  EXPECT_EQ((*one)[2].stacks[3].placement.rdbs, 1);
  EXPECT_EQ((*one)[2].stacks[3].placement.text, "filesystem:/dev/shm");
  const absl::StatusOr<std::vector<TestSpec>> two = MakeMatrix("paper-test2", {}, second);
  ASSERT_TRUE(two.ok());
  ASSERT_EQ((*two)[0].stacks.size(), 2u);
  EXPECT_EQ((*two)[0].stacks[0].placement.rdbs, 2);
  EXPECT_EQ((*two)[0].stacks[1].placement.text, "filesystem:/dev/shm:10");
  EXPECT_FALSE(MakeMatrix("paper", {}, second).ok());
}

// Simulates a stack that sustains up to some rate, and a little less in longer runs.
class FindMaximumTest : public testing::Test {
 protected:
  FoundMaximum Find(double highest, double from = 48'000) {
    TestSpec test;
    test.profile.seconds = 60;
    test.profile.SetUpdatesPerSecond(from);
    test.stacks = NameStacks({*ParsePlacement("dram")});
    const RunOneTest run = [&](const TestSpec& probe, bool is_probe) {
      EXPECT_EQ(is_probe, probe.profile.seconds < 60);
      EXPECT_EQ(probe.warm_up_s, 2);
      TestResult result;
      result.spec = probe;
      StackResult stack = MakeStack("dram", 1);
      const double rate = probe.profile.UpdatesPerSecond();
      bool holds = rate <= (is_probe ? highest : 0.95 * highest);
      // A stall of the machine in the first run of each rate.
      if (stalls_ && is_probe && rates_run_.insert(rate).second) holds = false;
      if (!holds) stack = MakeStack("dram", 500);
      stack.offered_per_s = stack.logged_per_s = rate;
      result.stacks = {stack};
      return result;
    };
    return FindMaximum(test, 100, run, confirmed_);
  }
  std::optional<TestResult> confirmed_;
  bool stalls_ = false;
  std::set<double> rates_run_;
};

TEST_F(FindMaximumTest, ConfirmsAtFullLengthWhatShortRunsHeld) {
  const FoundMaximum found = Find(3'000'000);
  EXPECT_GT(found.updates_per_s, 0.8 * 3'000'000);
  EXPECT_LE(found.updates_per_s, 0.95 * 3'000'000);
  EXPECT_EQ(found.probes.back().seconds, 60);
  EXPECT_TRUE(found.probes.back().sustained);
  EXPECT_THAT(found.broke, HasSubstr("p99 of quote_lag was"));
  EXPECT_LT(found.probes.size(), 20u);
  ASSERT_TRUE(confirmed_.has_value());
  EXPECT_EQ(confirmed_->spec.profile.seconds, 60);
}

TEST_F(FindMaximumTest, TriesAShortRunAgainBeforeItGivesUpWhatIsAboveIt) {
  stalls_ = true;
  const FoundMaximum found = Find(3'000'000);
  EXPECT_GT(found.updates_per_s, 0.8 * 3'000'000);
  for (size_t i = 1; i < found.probes.size(); ++i) {
    if (found.probes[i].seconds == 60) continue;
    EXPECT_EQ(found.probes[i].sustained && !found.probes[i - 1].sustained,
              found.probes[i].updates_per_s == found.probes[i - 1].updates_per_s &&
                  found.probes[i].updates_per_s <= 3'000'000)
        << i;
  }
}

TEST_F(FindMaximumTest, GoesDownWhereTheFirstRateDoesNotHold) {
  const FoundMaximum found = Find(100'000, 768'000);
  EXPECT_FALSE(found.probes.front().sustained);
  EXPECT_GT(found.updates_per_s, 0.8 * 100'000);
  EXPECT_LE(found.updates_per_s, 0.95 * 100'000);
  EXPECT_LT(found.probes.size(), 20u);
}

TEST_F(FindMaximumTest, FindsNothingWhereNothingHolds) {
  const FoundMaximum found = Find(100);
  EXPECT_EQ(found.updates_per_s, 0);
  EXPECT_GE(found.probes.back().updates_per_s, 1'000);
  EXPECT_LT(found.probes.back().updates_per_s, 2'000);
  EXPECT_FALSE(found.broke.empty());
}

TEST(BrokenBound, NamesWhatDidNotHold) {
  TestResult test;
  test.stacks = {MakeStack("dram", 10)};
  EXPECT_EQ(BrokenBound(test, 100), std::nullopt);
  EXPECT_THAT(*BrokenBound(test, 5), HasSubstr("dram-1: p99 of quote_lag was 9.90 ms"));
  test.stacks[0].logged_per_s = 30'000;
  EXPECT_THAT(*BrokenBound(test, 100), HasSubstr("30,000 updates/s were taken of 48,000"));
  test.failure = "rdb-1 died";
  EXPECT_EQ(*BrokenBound(test, 100), "rdb-1 died");
}

}  // namespace
}  // namespace tickstack::loadtest
