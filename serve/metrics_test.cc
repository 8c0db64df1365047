#include "serve/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace tickstack::serve {
namespace {

using testing::HasSubstr;
using testing::Not;

using enum MetricType;

Value Dict(SymbolVector names, std::vector<Value> values) {
  return Value::Dict(Value::Symbols(std::move(names)), Value::List(std::move(values)));
}

// The text of one metric over one answer, `.x`.
std::string Text(const Metric& metric, Value answer) {
  StatusFacts facts;
  facts.answers.push_back({".x", std::move(answer)});
  std::string text;
  AppendMetrics({&metric, 1}, "t_", facts, text);
  return text;
}

TEST(AppendMetrics, AnEntryIsASampleInTheUnitOfTheMetric) {
  const Metric metric{"lag_seconds", kGauge, "seconds", "How late.", ".x", "lag_ms", {}, 1e-3};
  EXPECT_EQ(Text(metric, Dict({"rows", "lag_ms"}, {Value::Long(7), Value::Float(250)})),
            "# HELP t_lag_seconds How late.\n# TYPE t_lag_seconds gauge\nt_lag_seconds 0.25\n");
  EXPECT_EQ(Text(metric, Dict({"rows"}, {Value::Long(7)})), "");
}

TEST(AppendMetrics, NullsAreNoSamplesAndInfinityIsOne) {
  const Metric metric{"x", kGauge, "", "X.", ".x", "x"};
  EXPECT_EQ(Text(metric, Dict({"x"}, {Value::Long(kNullLong)})), "");
  EXPECT_EQ(Text(metric, Dict({"x"}, {Value::Float(NAN)})), "");
  EXPECT_THAT(Text(metric, Dict({"x"}, {Value::Long(kInfinityLong)})), HasSubstr("\nt_x +Inf\n"));
  EXPECT_THAT(Text(metric, Dict({"x"}, {Value::Boolean(true)})), HasSubstr("\nt_x 1\n"));
  EXPECT_THAT(Text(metric, Dict({"x"}, {Value::Long(int64_t{1} << 52)})),
              HasSubstr("\nt_x 4503599627370496\n"));
  EXPECT_EQ(Text(metric, Dict({"x"}, {Value::String("1")})), "") << "a text is no number";
}

TEST(AppendMetrics, AnEntryThatIsADictionaryHasASampleForEachKey) {
  const Metric metric{"rows_total", kCounter, "rows", "Rows.", ".x", "rows", "table"};
  const Value rows = Value::Dict(Value::Symbols({"trade", "quote"}), Value::Longs({3, 4}));
  EXPECT_THAT(
      Text(metric, Dict({"rows"}, {rows})),
      HasSubstr("counter\nt_rows_total{table=\"trade\"} 3\nt_rows_total{table=\"quote\"} 4\n"));
  const Metric all{"rows_total", kCounter, "rows", "Rows.", ".x", "", "table"};
  EXPECT_THAT(Text(all, rows), HasSubstr("{table=\"quote\"} 4\n"));
}

TEST(AppendMetrics, AStateIsTheLabelOfAOne) {
  const Metric metric{"state", kGauge, "", "The state.", ".x", "state", "state"};
  EXPECT_THAT(Text(metric, Dict({"state"}, {Value::Symbol("held")})),
              HasSubstr("\nt_state{state=\"held\"} 1\n"));
}

TEST(AppendMetrics, ATableHasASampleForEachRow) {
  const Metric metric{"used_bytes", kGauge, "bytes", "Used.", ".x", "used", "tier"};
  const Value table = Value::Table(
      {"tier", "used"}, {Value::Symbols({"dram", "pmem"}), Value::Longs({10, kNullLong})});
  const std::string text = Text(metric, table);
  EXPECT_THAT(text, HasSubstr("{tier=\"dram\"} 10\n"));
  EXPECT_THAT(text, Not(HasSubstr("pmem")));
}

// Two equal series, or bytes that are not UTF-8, would make Prometheus refuse the whole page.
TEST(AppendMetrics, LabelsAreEscapedAndUnique) {
  const Metric metric{"x", kGauge, "", "X.", ".x", "", "feed"};
  const Value answer =
      Value::Dict(Value::Symbols({"a\"b\\c\nd", "\xff", "\xfe", "e"}), Value::Longs({1, 2, 3, 4}));
  const std::string text = Text(metric, answer);
  EXPECT_THAT(text, HasSubstr("{feed=\"a\\\"b\\\\c\\nd\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("{feed=\"\xef\xbf\xbd\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("} 3\n")));
  EXPECT_THAT(text, HasSubstr("{feed=\"e\"} 4\n"));
}

TEST(AppendMetrics, TheNumberOfSamplesIsBounded) {
  const Metric metric{"x", kGauge, "", "X.", ".x", "", "feed"};
  SymbolVector names;
  std::vector<int64_t> ones;
  for (size_t i = 0; i < kSamplesMax + 5; ++i) {
    names.push_back("feed" + std::to_string(i));
    ones.push_back(1);
  }
  const std::string text =
      Text(metric, Value::Dict(Value::Symbols(std::move(names)),
                               Value::Vector(Type::kLong, std::span<const int64_t>(ones))));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), static_cast<ptrdiff_t>(kSamplesMax + 2));
}

TEST(AppendMetrics, BucketsAreCumulativeAndEndWithAll) {
  const Metric metric{"latency_seconds", kHistogram, "seconds", "Latency.", "latency"};
  DurationBuckets durations;
  for (const int64_t ns : {int64_t{1000}, int64_t{1000}, int64_t{3'000'000}, int64_t{1} << 40}) {
    durations.Record(ns);
  }
  StatusFacts facts;
  facts.durations.push_back({"latency", "", durations.Read()});
  std::string text;
  AppendMetrics({&metric, 1}, "t_", facts, text);
  EXPECT_THAT(text, HasSubstr("# TYPE t_latency_seconds histogram\n"
                              "t_latency_seconds_bucket{le=\"1.024e-06\"} 2\n"
                              "t_latency_seconds_bucket{le=\"2.048e-06\"} 2\n"));
  EXPECT_THAT(
      text, HasSubstr("{le=\"0.002097152\"} 2\nt_latency_seconds_bucket{le=\"0.004194304\"} 3\n"));
  EXPECT_THAT(text,
              HasSubstr("{le=\"68.719476736\"} 3\nt_latency_seconds_bucket{le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("\nt_latency_seconds_count 4\n"));
}

TEST(StatusFacts, NumbersAndTextsAreFoundByName) {
  StatusFacts facts;
  facts.answers.push_back({".x", Dict({"a", "why"}, {Value::Long(5), Value::String("full")})});
  EXPECT_EQ(facts.Number(".x", "a"), 5);
  EXPECT_EQ(facts.Number(".x", "b"), std::nullopt);
  EXPECT_EQ(facts.Number(".y", "a"), std::nullopt);
  EXPECT_EQ(facts.NumberOr0(".x", "why"), 0);
  EXPECT_EQ(facts.Text(".x", "why"), "full");
  EXPECT_EQ(facts.Text(".x", "a"), "");
  EXPECT_TRUE(facts.Numbers(".x", "why").empty());
  facts.answers.push_back(
      {".z", Dict({"rows"}, {Value::Dict(Value::Symbols({"t"}), Value::Longs({3}))})});
  ASSERT_EQ(facts.Numbers(".z", "rows").size(), 1u);
  EXPECT_EQ(facts.Numbers(".z", "rows")[0].name, "t");
}

}  // namespace
}  // namespace tickstack::serve
