#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace tickstack {
namespace {

// The definition: the value at rank ceil(p% of n) of the sorted values.
int64_t PercentileByDefinition(const std::vector<int64_t>& sorted, uint64_t per_hundred_thousand) {
  const uint64_t rank = (sorted.size() * per_hundred_thousand + 99'999) / 100'000;
  return sorted[std::max<uint64_t>(rank, 1) - 1];
}

std::vector<int64_t> LogNormalLatencies(std::mt19937_64& rng, size_t n) {
  std::lognormal_distribution<double> latency(std::log(50'000.0), 1.5);
  std::vector<int64_t> values(n);
  for (int64_t& value : values) value = static_cast<int64_t>(latency(rng));
  return values;
}

Histogram Of(const std::vector<int64_t>& values) {
  Histogram histogram;
  for (const int64_t value : values) histogram.Record(value);
  return histogram;
}

TEST(Histogram, AnswersZeroWhenNothingWasRecorded) {
  const Histogram histogram;
  EXPECT_EQ(histogram.Count(), 0u);
  EXPECT_EQ(histogram.Min(), 0);
  EXPECT_EQ(histogram.Max(), 0);
  EXPECT_EQ(histogram.Mean(), 0);
  EXPECT_EQ(histogram.ValueAtPercentile(99), 0);
}

TEST(Histogram, KeepsSmallValuesExactly) {
  Histogram histogram;
  for (int64_t value = 1; value <= 2047; ++value) histogram.Record(value);
  EXPECT_EQ(histogram.ValueAtPercentile(0), 1);
  EXPECT_EQ(histogram.ValueAtPercentile(50), 1024);
  EXPECT_EQ(histogram.ValueAtPercentile(100), 2047);
  EXPECT_DOUBLE_EQ(histogram.Mean(), 1024);
}

// Goal: percentiles agree with sorted values. Method: 200 random sets of log-normal latencies; a
// counter is at most 1/1024 of its value wide, and the result is its upper end.
TEST(Histogram, AgreesWithTheSortedValuesToThreeDigits) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<int64_t> values = LogNormalLatencies(rng, 1 + rng() % 5'000);
    const Histogram histogram = Of(values);
    std::sort(values.begin(), values.end());

    ASSERT_EQ(histogram.Count(), values.size());
    ASSERT_EQ(histogram.Min(), values.front());
    ASSERT_EQ(histogram.Max(), values.back());
    for (const uint64_t p : {0u, 1'000u, 25'000u, 50'000u, 90'000u, 99'000u, 99'900u, 100'000u}) {
      const int64_t expected = PercentileByDefinition(values, p);
      const int64_t found = histogram.ValueAtPercentile(static_cast<double>(p) / 1'000);
      ASSERT_GE(found, expected) << p;
      ASSERT_LE(found, expected + expected / 1024 + 1) << p;
    }
    double sum = 0;
    for (const int64_t value : values) sum += static_cast<double>(value);
    const double mean = sum / static_cast<double>(values.size());
    ASSERT_NEAR(histogram.Mean(), mean, mean / 1000);
  }
}

TEST(Histogram, PutsEveryPowerOfTwoWithinItsDigits) {
  for (int digits = 1; digits <= 5; ++digits) {
    for (int bit = 0; bit < 42; ++bit) {
      for (const int64_t value : {(int64_t{1} << bit) - 1, int64_t{1} << bit}) {
        Histogram histogram(int64_t{1} << 42, digits);
        histogram.Record(value);
        histogram.Record(int64_t{1} << 42);
        const double error =
            static_cast<double>(histogram.ValueAtPercentile(50)) - static_cast<double>(value);
        EXPECT_GE(error, 0) << value;
        EXPECT_LE(error, static_cast<double>(value) * std::pow(10, -digits)) << value;
      }
    }
  }
}

TEST(Histogram, CountsWhatIsOutOfRangeAtItsEnds) {
  Histogram histogram(1'000'000);
  histogram.Record(-5);
  histogram.Record(INT64_MAX);
  EXPECT_EQ(histogram.Count(), 2u);
  EXPECT_EQ(histogram.Min(), 0);
  EXPECT_EQ(histogram.Max(), INT64_MAX);
  EXPECT_EQ(histogram.ValueAtPercentile(50), 0);
  EXPECT_EQ(histogram.ValueAtPercentile(100), INT64_MAX);
}

TEST(Histogram, RecordsManyAtOnceAsOneByOne) {
  Histogram many, single;
  many.RecordMany(123'456, 1'000);
  many.RecordMany(7, 0);
  for (int i = 0; i < 1'000; ++i) single.Record(123'456);
  EXPECT_EQ(many.Count(), 1'000u);
  EXPECT_EQ(many.Min(), 123'456);
  EXPECT_EQ(many.ValueAtPercentile(50), single.ValueAtPercentile(50));
}

TEST(Histogram, MergesAsIfAllHadBeenRecordedInOne) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<int64_t> left = LogNormalLatencies(rng, 1'000);
    const std::vector<int64_t> right = LogNormalLatencies(rng, 3'000);
    Histogram merged = Of(left);
    merged.Merge(Of(right));
    left.insert(left.end(), right.begin(), right.end());
    const Histogram all = Of(left);
    ASSERT_EQ(merged.Count(), all.Count());
    ASSERT_EQ(merged.Min(), all.Min());
    ASSERT_EQ(merged.Max(), all.Max());
    ASSERT_DOUBLE_EQ(merged.Mean(), all.Mean());
    for (const double p : {0.0, 50.0, 99.0, 99.9}) {
      ASSERT_EQ(merged.ValueAtPercentile(p), all.ValueAtPercentile(p));
    }
  }
}

TEST(Histogram, MergesOneOfOtherDigitsAndRange) {
  Histogram fine, coarse(1'000'000, 2), wide(int64_t{1} << 50);
  coarse.RecordMany(100'000, 3);
  wide.Record(int64_t{1} << 48);
  fine.Merge(coarse);
  fine.Merge(wide);
  EXPECT_EQ(fine.Count(), 4u);
  EXPECT_EQ(fine.Min(), 100'000);
  EXPECT_EQ(fine.Max(), int64_t{1} << 48);
  EXPECT_NEAR(static_cast<double>(fine.ValueAtPercentile(50)), 100'000, 1'000);
}

TEST(Histogram, StartsAgainAfterReset) {
  Histogram histogram;
  histogram.Record(1'000'000);
  histogram.Reset();
  histogram.Record(5);
  EXPECT_EQ(histogram.Count(), 1u);
  EXPECT_EQ(histogram.Max(), 5);
  EXPECT_EQ(histogram.ValueAtPercentile(100), 5);
}

TEST(Histogram, IsTheSameWhenItsCountersAreRecordedAgain) {
  std::mt19937_64 rng(7);
  const Histogram histogram = Of(LogNormalLatencies(rng, 10'000));
  Histogram again;
  for (const auto& [value, count] : histogram.Counters()) again.RecordMany(value, count);
  EXPECT_EQ(again.Count(), histogram.Count());
  EXPECT_EQ(again.Max(), histogram.Max());
  for (const double percentile : {1.0, 50.0, 99.0, 99.9, 100.0}) {
    EXPECT_EQ(again.ValueAtPercentile(percentile), histogram.ValueAtPercentile(percentile));
  }
}

}  // namespace
}  // namespace tickstack
