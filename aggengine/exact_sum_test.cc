#include "aggengine/exact_sum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace tickstack::aggengine {
namespace {

double SumOf(const std::vector<double>& terms) {
  ExactSum sum;
  for (const double term : terms) sum.Add(term);
  return sum.Value();
}

TEST(ExactSum, OfOneTermIsTheTerm) {
  for (const double term : {0.0, 1.0, -1.0, 0.01, -180.11, 1e-8, 123456789.87654321, 0x1.fffffp79,
                            -0x1.fffffp79, 0x1p-80, -0x1p-80, 0.1 + 0.2}) {
    EXPECT_EQ(SumOf({term}), term) << term;
  }
}

TEST(ExactSum, CutsWhatIsBelowItsUnit) {
  EXPECT_EQ(SumOf({0x1p-81}), 0);
  EXPECT_EQ(SumOf({-0x1p-81}), 0);
  EXPECT_EQ(SumOf({0x1.8p-80}), 0x1p-80);
  EXPECT_EQ(SumOf({std::numeric_limits<double>::denorm_min()}), 0);
}

TEST(ExactSum, KeepsWhatDoublesLose) {
  EXPECT_EQ(SumOf({0x1p79, 0x1p-80, -0x1p79}), 0x1p-80);
  EXPECT_EQ(SumOf({1e20, 0.01, -1e20}), 0.01);
  EXPECT_EQ(SumOf({0.1, 0.2, 0.3, -0.3, -0.2, -0.1}), 0);
}

TEST(ExactSum, RoundsOnceAndToEven) {
  EXPECT_EQ(SumOf({0x1p53, 1}), 0x1p53);
  EXPECT_EQ(SumOf({0x1p53, 1, 0x1p-80}), 0x1p53 + 2);
  EXPECT_EQ(SumOf({-0x1p53, -1, -0x1p-80}), -0x1p53 - 2);
  EXPECT_EQ(SumOf({0x1p53, 3}), 0x1p53 + 4);
}

// Goal: any order of the terms gives the same bits. Method: shuffled products of prices and sizes
// of both signs; an extended-precision sum of the same terms confirms the value.
TEST(ExactSum, DoesNotDependOnTheOrder) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<std::pair<double, double>> pairs;
    long double about = 0;
    for (int i = 0; i < 300; ++i) {
      const double price =
          std::ldexp(static_cast<double>(rng() >> 11), static_cast<int>(rng() % 60) - 80);
      const double size = static_cast<double>(static_cast<int64_t>(rng() % 20'001) - 10'000);
      pairs.emplace_back(price, size);
      about += static_cast<long double>(price) * size;
    }
    const auto sum = [&] {
      ExactSum of;
      for (const auto& [price, size] : pairs) of.AddProduct(price, size);
      return of.Value();
    };
    const double first = sum();
    EXPECT_NEAR(first, static_cast<double>(about),
                1e-9 * std::fabs(static_cast<double>(about)) + 1e-6);
    for (int i = 0; i < 5; ++i) {
      std::shuffle(pairs.begin(), pairs.end(), rng);
      ASSERT_EQ(sum(), first);
    }
  }
}

// Goal: a term that is taken out leaves no trace, also where its interval was added in two parts.
TEST(ExactSum, ATermOverTimeCanBeTakenOutInParts) {
  std::mt19937_64 rng(1);
  ExactSum sum;
  sum.Add(0.25);
  for (int i = 0; i < 10'000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(rng() >> 11), static_cast<int>(rng() % 120) - 120) *
        (i % 2 == 0 ? 1 : -1);
    ASSERT_TRUE(InRangeByTime(value));
    const auto ns = static_cast<int64_t>(rng() % 86'400'000'000'000);
    const int64_t part = ns / 3;
    sum.AddOverTime(value, ns);
    sum.AddOverTime(value, part, true);
    sum.AddOverTime(value, ns - part, true);
    ASSERT_EQ(sum.Value(), 0.25) << value << " " << ns;
  }
}

TEST(ExactSum, SaysWhatItTakes) {
  EXPECT_TRUE(InRange(-0x1.fffffp79));
  EXPECT_FALSE(InRange(0x1p80));
  EXPECT_FALSE(InRange(std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(InRange(std::numeric_limits<double>::quiet_NaN()));
  EXPECT_FALSE(InRangeByTime(0x1p60));
}

}  // namespace
}  // namespace tickstack::aggengine
