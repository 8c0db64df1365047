#include "monitor/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "monitor/output_file.h"

namespace tickstack::monitor {
namespace {

using testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kTenNs = 7'373 * kNsPerDay + 10 * 3'600 * kNsPerSecond;  // 2020.03.09D10:00

Sample Full() {
  Sample sample;
  sample.due_ns = kTenNs;
  sample.begin_ns = kTenNs + 1'500;
  sample.end_ns = kTenNs + 2 * kMs;
  sample.missed = 3;
  sample.tables = {{.newest_ns = kTenNs - kMs, .lag_ns = kMs + 1, .rows = 1'234'567}, {}};
  sample.asof_symbol = "SPY";
  sample.asof_rows = 812;
  sample.asof_ns = 400'000;
  sample.rdb = {{"latency.p99", 1'234}, {"tier.a,b\n.used", 5}};
  return sample;
}

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(OutputFile, BeginsAgainAndKeepsTheOneBefore) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("tickstack-output.{}", getpid());
  std::filesystem::create_directories(folder);
  {
    OutputFile file(folder / "a.csv");
    file.Write("one\n");
    EXPECT_EQ(file.bytes(), 4u);
    for (const char* text : {"two\n", "three\n"}) {
      file.BeginAgain();
      EXPECT_EQ(file.bytes(), 0u);
      file.Write(text);
    }
    EXPECT_TRUE(file.status().ok());
    EXPECT_EQ(ContentOf(folder / "a.csv"), "three\n");
    EXPECT_EQ(ContentOf(folder / "a.csv.1"), "two\n");
    std::filesystem::remove_all(folder);
    file.BeginAgain();
    file.Write("four\n");
    EXPECT_THAT(std::string(Message(file.status())), HasSubstr("a.csv: rename"));
  }
  OutputFile none(folder / "a.csv");
  EXPECT_THAT(std::string(Message(none.status())), HasSubstr("a.csv: open"));
}

TEST(SampleCsv, HasAColumnPerNumberAndAnEmptyCellForWhatIsNotKnown) {
  const Sample sample = Full();
  const SampleCsv csv({}, sample);
  EXPECT_EQ(csv.Header(),
            "time,delay_ms,query_ms,missed,trade_time,trade_lag_ms,trade_rows,quote_time,"
            "quote_lag_ms,quote_rows,asof_symbol,asof_rows,asof_ms,latency.p99,tier.a_b_.used\n");
  EXPECT_EQ(csv.Row(sample),
            "2020.03.09D10:00:00.002000000,0.001500,2.000000,3,2020.03.09D09:59:59.999000000,"
            "1.000001,1234567,,,,SPY,812,0.400000,1234,5\n");
}

TEST(SampleCsv, KeepsItsColumnsWhateverTheRdbSaysLater) {
  Sample sample = Full();
  const SampleCsv csv({}, sample);
  sample.rdb = {{"tier.new", 9}, {"latency.p99", 1.5}};
  EXPECT_THAT(csv.Row(sample), testing::EndsWith(",0.400000,1.5,\n"));
}

// A monitor that has seen two rounds of a tiny rdb.
class ReportTest : public testing::Test, public Rdb {
 protected:
  explicit ReportTest(Value tiers = Value::Long(0)) : tiers_(std::move(tiers)) {
    InitLogging("test", LogLevel::kOff);
    monitor_.OnConnected(this, kTenNs);
    for (int64_t round = 0; round < 2; ++round) {
      int64_t now_ns = kTenNs + round * 300 * kMs;
      monitor_.Poll(now_ns);
      for (; !query_.empty(); now_ns += kMs) {
        const std::string query = std::exchange(query_, {});
        const bool time = query.starts_with("exec last time");
        monitor_.OnAnswer(query.starts_with("exec last sym") ? Value::Symbol("SPY")
                          : query == ".tier.stats[]"         ? tiers_
                          : time                             ? Value::Timestamp(now_ns - 5 * kMs)
                                                             : Value::Long(1'000'000),
                          now_ns + kMs);
      }
    }
  }
  void Ask(std::string_view query) override { query_ = query; }
  Summary Make() const { return {"mon", "host:1", kTenNs, kTenNs + 600 * kMs, &monitor_}; }

  const Value tiers_;
  std::string query_;
  Monitor monitor_{{}, [](const Sample&) {}};
};

class TierReportTest : public ReportTest {
 protected:
  TierReportTest()
      : ReportTest(Value::Table(
            {"tier", "capacity", "used", "high_water", "refused", "resident"},
            {Value::Symbols({"dram", "pm.0"}), Value::Longs({kInfinityLong, int64_t{64} << 30}),
             Value::Longs({3 << 20, int64_t{20} << 30}), Value::Longs({4 << 20, int64_t{21} << 30}),
             Value::Longs({0, 1}), Value::Longs({3 << 20, 512})})) {}
};

TEST_F(TierReportTest, SaysTheMemoryOfEachTier) {
  EXPECT_THAT(ProgressLine(monitor_),
              testing::EndsWith(" | dram 3.00 MiB | pm.0 20.0 GiB of 64.0 GiB"));
  const std::string text = SummaryText(Make());
  EXPECT_THAT(text, HasSubstr("memory                          used  high water    capacity"
                              "     in DRAM\n"));
  EXPECT_THAT(text, HasSubstr("tier dram                   3.00 MiB    4.00 MiB           -"
                              "    3.00 MiB\n"));
  EXPECT_THAT(text, HasSubstr("tier pm.0                   20.0 GiB    21.0 GiB    64.0 GiB"
                              "       512 B\n"));
}

TEST_F(ReportTest, TheLineSaysRowsLagsAndTimes) {
  EXPECT_EQ(ProgressLine(monitor_),
            "trade 1,000,000 rows lag 6.00 ms | quote 1,000,000 rows lag 6.00 ms | "
            "asof SPY 1,000,000 rows 1.00 ms | query 5.00 ms");
}

TEST_F(ReportTest, TheSummaryIsForPeopleSpreadsheetsAndPrograms) {
  const std::string text = SummaryText(Make());
  EXPECT_THAT(text,
              HasSubstr("mon of host:1: 0.6 s, 2 samples (200 a minute), 0 missed, 0 errors"));
  EXPECT_THAT(text, HasSubstr("asof, last minute"));
  EXPECT_THAT(SummaryCsv(Make()), HasSubstr("\nasof,whole,1,1.000000,1.000000,"));
  const nlohmann::json json = nlohmann::json::parse(SummaryJson(Make()));
  EXPECT_EQ(json["samples"], 2);
  EXPECT_DOUBLE_EQ(json["queries_per_minute"], 200);
  EXPECT_EQ(json["metrics"]["query"]["whole"]["count"], 2);
  EXPECT_DOUBLE_EQ(json["metrics"]["query"]["last_minute"]["max_ms"], 8);
  EXPECT_EQ(json["rows"]["trade"], 1'000'000);
  EXPECT_EQ(json["asof_symbol"], "SPY");
}

}  // namespace
}  // namespace tickstack::monitor
