#include "monitor/monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "base/logging.h"
#include "base/time.h"

namespace tickstack::monitor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kStartNs = 9'000 * kNsPerDay;

// A minimal rdb whose answers take as long as the test says.
class FakeRdb : public Rdb {
 public:
  void Ask(std::string_view query) override { questions.emplace_back(query); }

  absl::StatusOr<Value> Answer(const std::string& query) const {
    if (query == "exec last time from trade") return Value::Timestamp(trade_ns);
    if (query == "exec last time from quote") return Value::Timestamp(quote_ns);
    if (query == "count trade") return Value::Long(11);
    if (query == "count quote") return Value::Long(110);
    if (query == "exec last sym from trade") return Value::Symbol(symbol);
    if (query.starts_with("count aj")) return Value::Long(7);
    if (query == ".rdb.latency[]") {
      return Value::Dict(Value::Symbols({"count", "p99"}), Value::Longs({5, 1'234}));
    }
    if (query == ".tier.stats[]") {
      return Value::Table({"tier", "kind", "capacity", "used", "refused"},
                          {Value::Symbols({"dram", "pmem"}), Value::Symbols({"a", "b"}),
                           Value::Longs({kInfinityLong, kNullLong}), Value::Longs({100, 200}),
                           Value::Longs({0, rows_refused})});
    }
    if (query == ".rdb.stats[]" && rows_refused > 0) {
      return Value::Dict(Value::Symbols({"rows_refused"}), Value::Longs({rows_refused}));
    }
    return absl::UnknownError("nyi: " + query);
  }

  std::deque<std::string> questions;
  int64_t rows_refused = 0;
  int64_t trade_ns = kNullLong, quote_ns = kNullLong;
  std::string symbol = "SPY";
};

class MonitorTest : public testing::Test {
 protected:
  MonitorTest() { InitLogging("test", LogLevel::kOff); }

  void Connect() { monitor_.OnConnected(&rdb_, now_ns_); }
  // Answers questions, each after `answer_ns`, until none is left.
  void Answer(int64_t answer_ns = kMs, size_t at_most = SIZE_MAX) {
    for (; at_most > 0 && !rdb_.questions.empty(); --at_most) {
      const std::string query = rdb_.questions.front();
      rdb_.questions.pop_front();
      asked_.push_back(query);
      now_ns_ += answer_ns;
      monitor_.OnAnswer(rdb_.Answer(query), now_ns_);
    }
  }
  // Lets time pass up to the next sample and runs it.
  void RunSample(int64_t answer_ns = kMs) {
    const int64_t due_ns = monitor_.Poll(now_ns_);
    if (due_ns != kNothingDue) {
      now_ns_ = due_ns;
      EXPECT_EQ(monitor_.Poll(now_ns_), kNothingDue);
    }
    Answer(answer_ns);
  }
  const measure::Metric& MetricOf(std::string_view name) const {
    for (const measure::Metric& metric : monitor_.metrics()) {
      if (metric.name() == name) return metric;
    }
    ADD_FAILURE() << name;
    return monitor_.metrics()[0];
  }

  int64_t now_ns_ = kStartNs;
  FakeRdb rdb_;
  std::vector<Sample> samples_;
  std::vector<std::string> asked_;
  Monitor monitor_{{.query_ns = 100 * kMs}, [this](const Sample& s) { samples_.push_back(s); }};
};

TEST_F(MonitorTest, ASampleIsARoundOfQuestions) {
  Connect();
  rdb_.trade_ns = rdb_.quote_ns = kStartNs - 5 * kMs;
  RunSample();
  ASSERT_EQ(samples_.size(), 1u);
  EXPECT_THAT(asked_,
              ElementsAre("exec last time from trade", "count trade", "exec last time from quote",
                          "count quote", "exec last sym from trade", ".rdb.latency[]",
                          ".rdb.stats[]", ".tier.stats[]"));
  const Sample& sample = samples_[0];
  EXPECT_EQ(sample.due_ns, kStartNs);
  EXPECT_EQ(sample.begin_ns, kStartNs);
  EXPECT_EQ(sample.end_ns, kStartNs + 8 * kMs);
  EXPECT_EQ(sample.tables[0].lag_ns, 6 * kMs);  // Counted up to the arrival of the answer.
  EXPECT_EQ(sample.tables[1].lag_ns, 8 * kMs);
  EXPECT_EQ(sample.tables[0].rows, 11);
  EXPECT_EQ(sample.tables[1].rows, 110);
  EXPECT_EQ(sample.asof_ns, std::nullopt);
  EXPECT_EQ(monitor_.errors(), 1);  // This rdb answers .rdb.stats[] with 'nyi.
}

TEST_F(MonitorTest, TimesTheAsofJoinOfOneSymbol) {
  Connect();
  RunSample();
  asked_.clear();
  RunSample();
  EXPECT_THAT(asked_[4], HasSubstr("count aj[`sym`time;select sym,time,price,size from trade where "
                                   "sym=`SPY;select sym,time,bid,ask from quote where sym=`SPY]"));
  EXPECT_EQ(asked_.size(), 5u);  // The rdb's own counters are asked for once a second.
  EXPECT_EQ(samples_[1].asof_symbol, "SPY");
  EXPECT_EQ(samples_[1].asof_rows, 7);
  EXPECT_EQ(samples_[1].asof_ns, kMs);
  EXPECT_EQ(measure::DistributionOf(MetricOf("asof").Whole()).count, 1u);
}

TEST_F(MonitorTest, ASymbolThatWouldBeAnotherQueryIsNotAsked) {
  Connect();
  rdb_.symbol = "A;delete from trade";
  RunSample();
  asked_.clear();
  RunSample();
  EXPECT_EQ(asked_[4], "exec last sym from trade");
}

TEST_F(MonitorTest, WarnsOfRowsThatTheRdbRefusesAndNamesTheFullTiers) {
  InitLogging("test", LogLevel::kWarn);
  const auto log_of = [&](int64_t rows_refused) {
    rdb_.rows_refused = rows_refused;
    testing::internal::CaptureStderr();
    // Passes the limit on the warning's rate and the interval of the rdb's counters.
    now_ns_ += 11 * kNsPerSecond;
    RunSample();
    return testing::internal::GetCapturedStderr();
  };
  Connect();
  EXPECT_THAT(log_of(0), testing::Not(HasSubstr("refuses")));
  EXPECT_THAT(log_of(7), HasSubstr("rdb refuses rows rows=7 rows_refused=7 full_tiers=pmem"));
  EXPECT_THAT(log_of(7), testing::Not(HasSubstr("refuses")));
  EXPECT_THAT(log_of(9), HasSubstr("rdb refuses rows rows=2 rows_refused=9 full_tiers=pmem"));
  EXPECT_THAT(log_of(3), HasSubstr("rdb refuses rows rows=3 rows_refused=3"));  // It was restarted.
  EXPECT_EQ(samples_.back().rdb.at("stats.rows_refused"), 3);  // It becomes a column of the CSV.
}

TEST_F(MonitorTest, KeepsTheNumbersThatTheRdbSaysOfItself) {
  Connect();
  RunSample();
  EXPECT_THAT(
      samples_[0].rdb,
      ElementsAre(testing::Pair("latency.count", 5), testing::Pair("latency.p99", 1'234),
                  testing::Pair("tier.dram.refused", 0), testing::Pair("tier.dram.used", 100),
                  testing::Pair("tier.pmem.refused", 0), testing::Pair("tier.pmem.used", 200)));
  RunSample();
  EXPECT_EQ(samples_[1].rdb.size(), 6u);
}

TEST_F(MonitorTest, SamplesAreDueOnAGrid) {
  Connect();
  for (int i = 0; i < 5; ++i) RunSample();
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(samples_[static_cast<size_t>(i)].due_ns, kStartNs + i * 100 * kMs);
  }
  EXPECT_EQ(monitor_.missed(), 0);
}

// Goal: a slow rdb does not hide behind the questions that it kept from being asked.
TEST_F(MonitorTest, SamplesDueWhileOneRunsCountFromWhenTheyWereDue) {
  Connect();
  RunSample();
  RunSample(70 * kMs);  // Five questions: 350 ms from 100 ms on; due at 200, 300 and 400 meanwhile.
  EXPECT_EQ(samples_[1].missed, 3);
  EXPECT_EQ(monitor_.missed(), 3);
  const measure::Distribution query = measure::DistributionOf(MetricOf("query").Whole());
  EXPECT_EQ(query.count, 5u);
  EXPECT_EQ(query.max, 350 * kMs);
  EXPECT_NEAR(static_cast<double>(query.p50), 150 * kMs, kMs);  // 8, 50, 150, 250, 350
  EXPECT_EQ(monitor_.Poll(now_ns_), kStartNs + 500 * kMs);
}

TEST_F(MonitorTest, ALateStartCountsFromWhenItWasDue) {
  Connect();
  RunSample();
  now_ns_ = kStartNs + 130 * kMs;
  RunSample();
  EXPECT_EQ(samples_[1].due_ns, kStartNs + 100 * kMs);
  EXPECT_EQ(samples_[1].begin_ns, kStartNs + 130 * kMs);
  EXPECT_EQ(measure::DistributionOf(MetricOf("query").Whole()).max, 35 * kMs);
}

TEST_F(MonitorTest, TheTimeWithoutAnRdbCounts) {
  Connect();
  RunSample();
  now_ns_ = kStartNs + 100 * kMs;
  EXPECT_EQ(monitor_.Poll(now_ns_), kNothingDue);
  Answer(kMs, 2);
  monitor_.OnDisconnected(now_ns_);
  rdb_.questions.clear();
  EXPECT_EQ(monitor_.Poll(now_ns_), kNothingDue);
  monitor_.OnAnswer(Value::Long(1), now_ns_);  // From the old connection: ignored.
  now_ns_ = kStartNs + 1'000 * kMs;
  Connect();
  RunSample();
  ASSERT_EQ(samples_.size(), 2u);
  EXPECT_EQ(samples_[1].due_ns, kStartNs + 100 * kMs);
  EXPECT_EQ(samples_[1].missed, 9);
  EXPECT_EQ(monitor_.reconnects(), 1);
  EXPECT_GT(measure::DistributionOf(MetricOf("query").Whole()).max, 900 * kMs);
}

TEST_F(MonitorTest, NeitherTheTimeBeforeTheRunNorTheQuietAfterItIsALag) {
  rdb_.trade_ns = kStartNs - 3'600 * kNsPerSecond;  // A row that was there before.
  Connect();
  RunSample();
  RunSample();
  for (int i = 0; i < 10; ++i) {
    rdb_.trade_ns = now_ns_ - 2 * kMs;
    RunSample();
  }
  for (int i = 0; i < 50; ++i) RunSample();
  const measure::Distribution lag = measure::DistributionOf(MetricOf("trade_lag").Whole());
  EXPECT_EQ(lag.count, 9u);  // The tenth row is the last, so whether it is late is not known.
  EXPECT_LT(lag.max, 101 * kMs);
  EXPECT_GT(*samples_.back().tables[0].lag_ns, 4'900 * kMs);  // The sample says what was seen.
}

TEST_F(MonitorTest, AStallCountsWhenItEnds) {
  Connect();
  for (int i = 0; i < 5; ++i) {
    rdb_.trade_ns = now_ns_ + 1;
    RunSample();
  }
  for (int i = 0; i < 20; ++i) RunSample();
  EXPECT_LT(measure::DistributionOf(MetricOf("trade_lag").Whole()).max, 200 * kMs);
  rdb_.trade_ns = now_ns_;
  RunSample();
  EXPECT_GT(measure::DistributionOf(MetricOf("trade_lag").Whole()).max, 1'900 * kMs);
}

TEST_F(MonitorTest, ADayThatIsReplayedHasNoLag) {
  Connect();
  RunSample();
  for (const int64_t ns : {kStartNs - 5 * kNsPerDay, kNullLong + 1, int64_t{0}}) {
    rdb_.trade_ns = ns;
    RunSample();
    EXPECT_EQ(samples_.back().tables[0].newest_ns, ns);
    EXPECT_EQ(samples_.back().tables[0].lag_ns, std::nullopt);
  }
  EXPECT_EQ(measure::DistributionOf(MetricOf("trade_lag").Whole()).count, 0u);
}

TEST_F(MonitorTest, AnswersOfOtherTypesAreNoNumbers) {
  Connect();
  monitor_.Poll(now_ns_);
  for (const Value& answer :
       {Value::String("x"), Value::Float(1.5), Value::Long(kNullLong), Value::Table({}, {}),
        Value::Int(7), Value::Dict(Value::Longs({1}), Value::Longs({1})),
        Value::Dict(Value::Symbols({"a"}), Value::List({Value()})),
        Value::Table({"a"}, {Value::Longs({1})})}) {
    rdb_.questions.clear();
    monitor_.OnAnswer(answer, ++now_ns_);
  }
  ASSERT_EQ(samples_.size(), 1u);
  EXPECT_EQ(samples_[0].tables[0].newest_ns, std::nullopt);
  EXPECT_EQ(samples_[0].tables[0].rows, std::nullopt);
  EXPECT_EQ(samples_[0].tables[1].rows, std::nullopt);
  EXPECT_TRUE(samples_[0].rdb.empty());
}

TEST(Metric, KnowsTheWholeRunAndTheLastMinute) {
  measure::Metric metric("m");
  metric.Record(0, 5'000);
  metric.Record(30 * kNsPerSecond, 70);
  metric.Record(90 * kNsPerSecond, 90);
  EXPECT_EQ(measure::DistributionOf(metric.Whole()).count, 3u);
  EXPECT_EQ(measure::DistributionOf(metric.Whole()).max, 5'000);
  EXPECT_EQ(measure::DistributionOf(metric.LastMinute(90 * kNsPerSecond)).count, 2u);
  EXPECT_EQ(measure::DistributionOf(metric.LastMinute(90 * kNsPerSecond)).max, 90);
  EXPECT_EQ(measure::DistributionOf(metric.LastMinute(120 * kNsPerSecond)).min, 90);
  EXPECT_EQ(measure::DistributionOf(metric.LastMinute(200 * kNsPerSecond)).count, 0u);
}

TEST_F(MonitorTest, ForgetsWhatItMeasuredWhenItBeginsAnew) {
  Connect();
  rdb_.trade_ns = rdb_.quote_ns = kStartNs;
  RunSample();
  rdb_.trade_ns += 100 * kMs;
  RunSample();
  EXPECT_EQ(monitor_.Poll(now_ns_ += 100 * kMs), kNothingDue);
  Answer(kMs, 2);
  monitor_.Restart(now_ns_);
  const int64_t begin_ns = now_ns_;
  Answer();  // Answers the rest of a sample that began before.
  EXPECT_EQ(monitor_.samples(), 0);
  EXPECT_EQ(monitor_.begin_ns(), begin_ns);
  for (const measure::Metric& metric : monitor_.metrics()) EXPECT_EQ(metric.Whole().Count(), 0u);
  RunSample();  // Sees the first row that is newer than the ones before.
  rdb_.trade_ns += 100 * kMs;
  RunSample();
  rdb_.trade_ns += 100 * kMs;
  RunSample();
  EXPECT_EQ(monitor_.samples(), 3);
  EXPECT_EQ(MetricOf("query").Whole().Count(), 3u);
  EXPECT_EQ(MetricOf("trade_lag").Whole().Count(), 1u);
  EXPECT_EQ(samples_.size(), 5u);
}

TEST_F(MonitorTest, SpreadsItsSamplesOverAnotherTimersPeriod) {
  constexpr int64_t kSpread = 50 * kMs, kQuery = 100 * kMs;
  std::vector<int64_t> phases;
  Monitor spread({.query_ns = kQuery, .spread_ns = kSpread}, [&](const Sample& sample) {
    phases.push_back((sample.due_ns - kStartNs) % kQuery);
    EXPECT_EQ((sample.due_ns - kStartNs) / kQuery, static_cast<int64_t>(phases.size()) - 1);
  });
  spread.OnConnected(&rdb_, now_ns_);
  while (phases.size() < 100) {
    const int64_t due_ns = spread.Poll(now_ns_);
    if (due_ns != kNothingDue) now_ns_ = due_ns;
    for (; !rdb_.questions.empty(); rdb_.questions.pop_front()) {
      spread.OnAnswer(rdb_.Answer(rdb_.questions.front()), now_ns_ += 1'000);
    }
  }
  // Each fifth of the interval gets as many.
  std::vector<int> fifths(5, 0);
  for (const int64_t phase : phases) ++fifths[static_cast<size_t>(phase * 5 / kSpread)];
  for (const int count : fifths) EXPECT_NEAR(count, 20, 2);
  EXPECT_EQ(spread.missed(), 0);
}

}  // namespace
}  // namespace tickstack::monitor
