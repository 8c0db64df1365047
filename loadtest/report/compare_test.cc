#include "loadtest/report/compare.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "loadtest/report/compare_spread.h"

namespace tickstack::loadtest::report {
namespace {

using testing::HasSubstr;

// Makes realistic query times: log-normal, correlated from one to the next, and now and then a
// stall that slows several.
class Queries {
 public:
  Queries(uint64_t seed, double level) : random_(seed), level_(level) {}

  double Next() {
    mood_ = 0.8 * mood_ + 0.08 * normal_(random_);
    if (stalled_ == 0 && random_() % 200 == 0) stalled_ = 5;
    const double stall = stalled_ > 0 ? 1.5 : 1;
    stalled_ -= stalled_ > 0 ? 1 : 0;
    return level_ * stall * std::exp(mood_ + 0.15 * normal_(random_));
  }

 private:
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  double level_, mood_ = 0;
  int stalled_ = 0;
};

double Quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

// Directories of invented runs: one test of 50/50 whose as-of joins were measured.
class Runs : public testing::Test {
 protected:
  Runs() {
    char name[] = "/tmp/compare_test.XXXXXX";
    root_ = mkdtemp(name);
  }
  ~Runs() override { std::filesystem::remove_all(root_); }

  // Writes a run with a stack for each of `levels`, all with the same placement.
  std::string Write(const std::string& name, uint64_t seed, const std::vector<double>& levels,
                    int samples = 1200, const std::string& placement = "dram") {
    const std::string directory = root_ + "/" + name;
    std::filesystem::create_directories(directory);
    std::ofstream rows(directory + "/samples.csv");
    rows << "test,stack,rdb,time_s,trade_lag_ms,quote_lag_ms,trade_bar_lag_ms,quote_bar_lag_ms,"
            "asof_ms,query_ms\n";
    std::string stacks;
    for (size_t i = 0; i < levels.size(); ++i) {
      Queries queries(seed * 100 + i, levels[i]);
      std::vector<double> values;
      for (int k = 0; k < samples; ++k) {
        values.push_back(queries.Next());
        rows << fmt::format("50/50,s{},r,{:.2f},,,,,{:.5g},\n", i, 0.05 * k, values.back());
      }
      stacks += fmt::format(
          R"({}{{"name":"s{}","placement":"{}","outcome":"ok","metrics":{{"asof":{{"whole":{{"count":{},"p50_ms":{},"p99_ms":{},"max_ms":{}}}}}}}}})",
          i == 0 ? "" : ",", i, placement, samples, Quantile(values, 0.5), Quantile(values, 0.99),
          Quantile(values, 1));
    }
    std::ofstream(directory + "/summary.json") << fmt::format(
        R"({{"format":1,"name":"n","outcome":"ok","profile":{{"updates_per_s":48000}},"tests":[{{"name":"50/50","batch_ms":50,"query_ms":50,"seconds":{},"stacks":[{}]}}]}})",
        0.05 * samples, stacks);
    std::ofstream(directory + "/environment.json") << "{}";
    return directory;
  }

  Comparison Compare(const std::string& a, const std::string& b) {
    absl::StatusOr<Comparison> comparison = CompareRuns(a, b);
    EXPECT_TRUE(comparison.ok()) << comparison.status();
    return comparison.ok() ? *std::move(comparison) : Comparison();
  }

  std::string root_;
};

const FigureComparison& FigureOf(const Comparison& comparison, const std::string& statistic) {
  for (const FigureComparison& figure : comparison.stacks.at(0).figures) {
    if (figure.quantity == "asof" && figure.statistic == statistic) return figure;
  }
  throw std::out_of_range(statistic);
}

TEST(TwoSidedT, AgreesWithTables) {
  EXPECT_NEAR(12.706, TwoSidedT(0.05, 1), 1e-3);
  EXPECT_NEAR(4.303, TwoSidedT(0.05, 2), 1e-3);
  EXPECT_NEAR(2.228, TwoSidedT(0.05, 10), 1e-3);
  EXPECT_NEAR(3.169, TwoSidedT(0.01, 10), 1e-3);
  EXPECT_NEAR(1.960, TwoSidedT(0.05, 1e6), 1e-3);
  EXPECT_NEAR(636.6, TwoSidedT(0.001, 1), 0.1);
}

TEST(TwoSidedT, IsNotANumberForSuchDegrees) {
  EXPECT_TRUE(std::isnan(TwoSidedT(0.05, std::numeric_limits<double>::quiet_NaN())));
}

// Goal: the bootstrap's variance is the variance over repetitions. Method: compare the variance of
// the median over 200 repeated runs with the mean of what 40 of them estimate.
TEST(QuantileSpreads, AgreeWithRepetition) {
  std::vector<double> medians, told;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    Queries queries(seed, 1);
    SlicedValues values;
    std::vector<double> all;
    for (uint32_t i = 0; i < 1200; ++i) {
      all.push_back(queries.Next());
      values.Add(i / 100, static_cast<float>(all.back()));
    }
    medians.push_back(std::log(Quantile(all, 0.5)));
    if (seed < 40) told.push_back(QuantileSpreads(values, {0.5}).at(0)->variance);
  }
  double mean = 0, squares = 0, told_mean = 0;
  for (const double median : medians) mean += median / 200;
  for (const double median : medians) squares += (median - mean) * (median - mean) / 199;
  for (const double variance : told) told_mean += variance / 40;
  EXPECT_GT(told_mean, 0.7 * squares);
  EXPECT_LT(told_mean, 1.4 * squares);
}

TEST(QuantileSpreads, SayNothingOfTooLittle) {
  SlicedValues values;
  EXPECT_EQ(std::nullopt, QuantileSpreads(values, {0.5}).at(0));
  for (uint32_t i = 0; i < 100; ++i) values.Add(i / 10, 1);
  EXPECT_NE(std::nullopt, QuantileSpreads(values, {0.5}).at(0));
  // One value is beyond the quantile.
  EXPECT_EQ(std::nullopt, QuantileSpreads(values, {0.99}).at(0));
  SlicedValues short_run;
  for (uint32_t i = 0; i < 100; ++i) short_run.Add(i / 20, 1);
  EXPECT_EQ(std::nullopt, QuantileSpreads(short_run, {0.5}).at(0));  // Five slices.
  values.Add(9, 0);
  EXPECT_EQ(std::nullopt, QuantileSpreads(values, {0.5}).at(0));  // Values without a logarithm.
}

TEST(RateSpread, IsThatOfItsSlices) {
  SlicedValues steady, unsteady;
  for (uint32_t i = 0; i < 1200; ++i) steady.Add(i / 100, 1);
  for (uint32_t i = 0; i < 1200; ++i) unsteady.Add(i / 200 * 2 + (i % 4 == 0 ? 1 : 0), 1);
  EXPECT_EQ(0, RateSpread(steady)->variance);
  EXPECT_GT(RateSpread(unsteady)->variance, 0.01);
  EXPECT_EQ(std::nullopt, RateSpread({}));
}

// Goal: the spread of a median is what repetition would show. Method: 400 runs of 30 slices whose
// levels differ by 10 %.
TEST(MedianSpread, IsThatOfTheMeanOfItsSlices) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  double said = 0, squares = 0;
  constexpr int kRuns = 400, kSlices = 30;
  for (int run = 0; run < kRuns; ++run) {
    std::vector<std::pair<double, int64_t>> medians;
    double mean = 0;
    for (int i = 0; i < kSlices; ++i) {
      const double log = 0.1 * normal(random);
      medians.emplace_back(5 * std::exp(log), 100);
      mean += log / kSlices;
    }
    squares += mean * mean / kRuns;
    said += MedianSpread(medians)->variance / kRuns;
  }
  EXPECT_NEAR(said / squares, 1, 0.2);
  EXPECT_FALSE(MedianSpread({{1, 100}, {2, 100}, {3, 100}, {4, 100}, {5, 100}, {6, 9}}));
  EXPECT_FALSE(MedianSpread({}));
}

// Goal: chance is not reported as a difference. Method: 100 pairs drawn alike. Each may report one
// with a probability of 1 %, so more than 4 reports have a probability of 0.3 %.
TEST_F(Runs, DrawnAlikeDoNotDiffer) {
  int named = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const Comparison comparison =
        Compare(Write("a", 2 * seed, {1.0}, 1000), Write("b", 2 * seed + 1, {1.0}, 1000));
    ASSERT_EQ(2u, comparison.judged);
    named += comparison.differences > 0 ? 1 : 0;
  }
  EXPECT_LE(named, 4);
}

// Goal: a difference within the variation between stacks of a kind is not reported. Method: each
// stack has a level of its own, with a deviation of 10 %, which its slices of time cannot show.
TEST_F(Runs, WhatStacksDifferByIsCovered) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  int named = 0, by_slices = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto level = [&] { return std::exp(0.1 * normal(random)); };
    const std::vector<double> a = {level(), level()}, b = {level(), level()};
    const Comparison comparison =
        Compare(Write("a", 1000 + 2 * seed, a, 400), Write("b", 1001 + 2 * seed, b, 400));
    named += comparison.differences > 0 ? 1 : 0;
    by_slices += FigureOf(comparison, "p50_ms").basis == "slices of time" ? 1 : 0;
  }
  EXPECT_LE(named, 2);
  EXPECT_LE(by_slices, 5);
}

TEST_F(Runs, ARealShiftIsFound) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const std::string a = Write("a", 2 * seed, {1.0}), b = Write("b", 2 * seed + 1, {1.3});
    const Comparison there = Compare(a, b), back = Compare(b, a);
    EXPECT_EQ(Verdict::kMore, FigureOf(there, "p50_ms").verdict);
    EXPECT_EQ(Verdict::kLess, FigureOf(back, "p50_ms").verdict);
    EXPECT_EQ(Verdict::kNotJudged, FigureOf(there, "max_ms").verdict);
    EXPECT_NEAR(0.3, *FigureOf(there, "p50_ms").change, 0.1);
    EXPECT_EQ(FigureOf(there, "p50_ms").spread, FigureOf(back, "p50_ms").spread);
  }
}

TEST_F(Runs, ARealShiftIsFoundAmongSeveralStacks) {
  const Comparison comparison =
      Compare(Write("a", 1, {1.0, 1.0, 1.0}), Write("b", 2, {2.0, 2.0, 2.0}));
  EXPECT_EQ(3u, comparison.stacks.at(0).stacks_a);
  EXPECT_EQ(Verdict::kMore, FigureOf(comparison, "p50_ms").verdict);
}

TEST_F(Runs, ARunIsLikeItself) {
  const std::string a = Write("a", 1, {1.0});
  const Comparison comparison = Compare(a, a);
  EXPECT_EQ(0u, comparison.differences);
  EXPECT_TRUE(comparison.unlike.empty());
}

TEST_F(Runs, WhatHasNoCounterpartIsNamed) {
  const Comparison comparison =
      Compare(Write("a", 1, {1.0}), Write("b", 1, {1.0}, 1200, "filesystem:/mnt\\u001b[31m"));
  EXPECT_TRUE(comparison.stacks.empty());
  EXPECT_EQ(2u, comparison.only_in_one.size());
  EXPECT_THAT(ComparisonText(comparison), HasSubstr("No figure could be compared"));
  EXPECT_EQ(std::string::npos, ComparisonText(comparison).find('\x1b'));
}

TEST_F(Runs, WhatElseDiffersIsNamed) {
  const Comparison comparison = Compare(Write("a", 1, {1.0}), Write("b", 2, {1.0}, 2400));
  EXPECT_THAT(comparison.unlike, testing::ElementsAre("seconds of 50/50: 60 against 120"));
}

TEST_F(Runs, TextAndJsonSayTheSame) {
  const Comparison comparison = Compare(Write("a", 1, {1.0}), Write("b", 2, {1.5}));
  const std::string text = ComparisonText(comparison);
  EXPECT_THAT(text, HasSubstr("SLOWER"));
  EXPECT_THAT(text, HasSubstr(" in 2 figures that could be compared"));
  const auto json = nlohmann::json::parse(ComparisonJson(comparison));
  EXPECT_EQ(comparison.differences, json["differences"]);
  EXPECT_EQ(0.01, json["false_positives"]);
  bool found = false;
  for (const auto& figure : json["stacks"][0]["figures"]) {
    if (figure["quantity"] != "asof" || figure["statistic"] != "p50_ms") continue;
    found = true;
    EXPECT_EQ("more", figure["verdict"]);
    EXPECT_GT(figure["change"], figure["spread"]);
    const double above = figure["spread"], below = figure["spread_below"];
    EXPECT_NEAR(1, (1 + above) * (1 + below), 1e-9) << "the bounds are not symmetric";
    EXPECT_THAT(text, HasSubstr(fmt::format("{:+.1f} to {:+.1f} %", 100 * below, 100 * above)));
  }
  EXPECT_TRUE(found);
}

TEST_F(Runs, AMissingRunIsAnError) {
  EXPECT_EQ(absl::StatusCode::kNotFound,
            CompareRuns(Write("a", 1, {1.0}), root_ + "/none").status().code());
}

}  // namespace
}  // namespace tickstack::loadtest::report
