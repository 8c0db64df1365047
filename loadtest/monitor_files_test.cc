#include "loadtest/monitor_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "loadtest/client_summary.h"
#include "loadtest/monitor_clients.h"
#include "loadtest/summary.h"

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

// Writes and reads the files that clients leave beside a stem.
class MonitorClientsTest : public MonitorFilesTest {
 protected:
  MonitorClientsTest() {
    summary_ = R"({"clients": {"desk": {"connections": 3, "mode": "open", "every_ms": 20,
        "arrivals": "poisson", "connections_lost": 1}, "a": {"mode": "closed", "think_ms": 5}},
      "queries": {"desk": {"last": {"errors": 2, "errors_allowed": true, "first_error": "nyi",
        "unanswered": 1, "per_minute": 30, "whole": {"counters_ns": [[1000, 4], [5000, 1]]},
        "last_minute": {"counters_ns": [[1000, 4]]}}}}})";
    slices_ = "client,query,time,count,errors,p50_ms,p99_ms,p999_ms,max_ms\n";
  }
  ~MonitorClientsTest() override {
    std::filesystem::remove(path_ + ".summary.json");
    std::filesystem::remove(path_ + ".queries.csv");
  }
  absl::Status Add(const std::string& rdb = "rdb-1") {
    std::ofstream(path_ + ".summary.json") << summary_;
    std::ofstream(path_ + ".queries.csv") << slices_;
    return AddMonitorClients(path_, rdb, kBegin, stack_);
  }
  void Change(const std::string& from, const std::string& to) {
    const size_t at = summary_.find(from);
    ASSERT_NE(at, std::string::npos);
    summary_.replace(at, from.size(), to);
  }
  std::string summary_, slices_;
};

TEST_F(MonitorClientsTest, PutsTheMonitorsOfAStackTogether) {
  slices_ += "desk,last," + Line(-0.01, "4,0,1,2,3,4") + "desk,last," + Line(10, "5,2,1.5,2,3,4");
  ASSERT_TRUE(Add("rdb-1").ok());
  ASSERT_TRUE(Add("rdb-2").ok());
  ASSERT_EQ(stack_.clients.size(), 2u);
  const ClientResult& desk = stack_.clients[0];
  EXPECT_EQ(desk.name, "desk");
  EXPECT_TRUE(desk.open_loop);
  EXPECT_EQ(desk.connections, 3);
  EXPECT_EQ(desk.every_ms, 20);
  EXPECT_EQ(desk.arrivals, "poisson");
  EXPECT_EQ(desk.connections_lost, 2u);
  EXPECT_EQ(stack_.clients[1].think_ms, 5);
  const QueryResult* const last = FindQuery(stack_, "desk", "last");
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->errors, 4u);
  EXPECT_EQ(last->unanswered, 2u);
  EXPECT_EQ(last->per_minute, 60);
  EXPECT_EQ(last->times.whole.Count(), 10u);
  EXPECT_EQ(last->times.last_minute.Count(), 8u);
  ASSERT_EQ(stack_.query_slices.size(), 4u);
  EXPECT_EQ(stack_.query_slices[0].time_s, 0);
  EXPECT_EQ(stack_.query_slices[3].rdb, "rdb-2");
  EXPECT_EQ(stack_.query_slices[3].time_s, 10);
  EXPECT_EQ(stack_.query_slices[3].count, 5u);
  EXPECT_EQ(stack_.query_slices[3].ms[0], 1.5);
  EXPECT_EQ(FindQuery(stack_, "desk", "first"), nullptr);
  EXPECT_EQ(FindQuery(stack_, "nobody", "last"), nullptr);
}

TEST_F(MonitorClientsTest, SaysWhatIsWrong) {
  const auto error = [this] { return std::string(Message(Add())); };
  slices_ += "desk,last,soon,4,0,1,2,3,4\n";
  EXPECT_THAT(error(), HasSubstr("queries.csv: desk,last,soon,4,0,1,2,3,4: expected a row of 9"));
  slices_ = "";
  EXPECT_THAT(error(), HasSubstr("queries.csv: no answers of clients"));
  Change("counters_ns", "counters");
  EXPECT_THAT(error(), HasSubstr("queries.desk.last: expected counters"));
  Change("\"queries\"", "\"answers\"");
  EXPECT_THAT(error(), HasSubstr("queries: expected an object"));
  summary_ = "[]";
  EXPECT_THAT(error(), HasSubstr("clients: expected an object"));
  std::filesystem::remove(path_ + ".summary.json");
  EXPECT_EQ(AddMonitorClients(path_ + ".none", "rdb-1", 0, stack_).code(),
            absl::StatusCode::kNotFound);
}

TEST_F(MonitorClientsTest, ErrorsAreWrongUnlessTheyAreAllowedAndSoIsSilence) {
  ASSERT_TRUE(Add().ok());
  EXPECT_EQ(WrongAnswers(stack_), "\n  client a: no question was answered");
  stack_.clients[1].open_loop = true;
  stack_.clients[1].has_begun = true;
  EXPECT_EQ(WrongAnswers(stack_), "") << "nothing was due";
  stack_.clients[1].has_begun = false;
  EXPECT_EQ(WrongAnswers(stack_), "\n  client a: no question was answered");
  stack_.clients.pop_back();
  stack_.clients[0].queries[0].second.errors_allowed = false;
  EXPECT_EQ(WrongAnswers(stack_), "\n  client desk, query last: 2 of 5 failed, the first: nyi");
}

TEST_F(MonitorClientsTest, AreInEveryFileOfTheRun) {
  slices_ += "desk,last," + Line(10, "5,2,1.5,2,3,4");
  ASSERT_TRUE(Add().ok());
  RunResult run;
  run.queries = "desk";
  TestResult& test = run.tests.emplace_back();
  test.spec.name = "50/300";
  stack_.spec = NameStacks({*ParsePlacement("dram")}).front();
  test.stacks = {stack_};
  const std::string json = SummaryJson(run);
  EXPECT_THAT(json, HasSubstr("\"query_set\": \"desk\""));
  EXPECT_THAT(json, HasSubstr("\"first_error\": \"nyi\""));
  EXPECT_THAT(SummaryCsv(run), HasSubstr(",30.0,2,1,0.001000,0.005000,0.005000,0.005000\n"));
  EXPECT_THAT(QueriesCsv(run),
              HasSubstr("\n50/300,dram-1,rdb-1,desk,last,10.000,5,2,1.500000,2.000000,"));
  EXPECT_THAT(SideBySide(test), HasSubstr("desk answers/min"));
  EXPECT_THAT(SideBySide(test), HasSubstr("  last p99"));
  test.stacks[0].clients.clear();
  EXPECT_THAT(SummaryCsv(run), testing::EndsWith(",,,,,,,\n"));
}

}  // namespace
}  // namespace tickstack::loadtest
