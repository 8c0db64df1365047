// Goal: moving windows, ranks and other functions along a list do what the reference says
// (code.kx.com/q/ref: avg, sum, count, max, min, dev, ema, rank, xrank, xprev, differ, fill).
// Method: pairs, and property tests against the aggregates of every window.

#include "query/kernels/moving.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "query/kernels/ranks.h"
#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Moving, SumsCountsAndAverages) {
  constexpr Pair kPairs[] = {
      {"2 mavg 1 2 3 5 7 10", "1 1.5 2.5 4 6 8.5"},
      {"5 mavg 1 2 3 5 7 10", "1 1.5 2 2.75 3.6 5.4"},
      {"5 mavg 0N 2 0N 5 7 0N", "0n 2 2 3.5 4.666666667 4.666666667"},
      {"2 mavg 0N 0N 4", "0n 0n 4"},
      {"1 mavg 1 2", "1 2f"},
      {"100 mavg 1 2", "1 1.5"},
      {"0W mavg 1 2", "1 1.5"},
      {"2i mavg 1 2h", "1 1.5"},
      {"2 mavg 1 2e", "1 1.5"},
      {"2 mavg 01b", "0 0.5"},
      {"2 mavg 0x0103", "1 2f"},
      {"2 mavg 09:30 09:32", "570 571f"},
      {"2 mavg `long$()", "`float$()"},
      {"2 mavg ()", "`float$()"},
      {"2 mavg 0w 1 2 3", "0w 0w 1.5 2.5"},
      {"2 mavg `a`b`c!1 2 4", "`a`b`c!1 1.5 3"},
      {"2 mavg ([]a:1 3;b:2 4f)", "([]a:1 2f;b:2 3f)"},
      {"2 mavg ([k:`a`b]v:1 3)", "([k:`a`b]v:1 2f)"},
      {"0 mavg 2 3", "0n 0n"},
      {"0 mavg `a`b", "'type"},
      {"0 msum 1 2", "'domain"},
      {"-1 mavg 1 2", "'domain"},
      {"0N mavg 1 2", "'domain"},
      {"1.5 mavg 1 2", "'type"},
      {"1 2 mavg 1 2", "'type"},
      {"2 mavg 5", "'type"},
      {"2 mavg `a`b", "'type"},
      {"2 mavg \"ab\"", "'type"},
      {"2 mavg (1 2;3 4)", "'nyi: mavg of a list"},
      {"3 msum 1 2 3 5 7 11", "1 3 6 10 15 23"},
      {"3 msum 0N 2 3 5 0N 11", "0 2 5 10 8 16"},
      {"2 msum 1 2 3i", "1 3 5i"},
      {"2 msum 1 2h", "1 3i"},
      {"2 msum 110b", "1 2 1i"},
      {"2 msum 1.5 0n 2", "1.5 1.5 2"},
      {"2 msum 1 2e", "1 3e"},
      {"2 msum 0D00:01 0D00:02", "0D00:01:00.000000000 0D00:03:00.000000000"},
      {"2 msum 0W 1 1", "0W 0N 2"},
      {"2 msum `long$()", "`long$()"},
      {"2 msum ()", "()"},
      {"3 mcount 0 1 2 3 4 5", "1 2 3 3 3 3i"},
      {"3 mcount 0N 1 2 3 0N 5", "0 1 2 3 2 2i"},
      {"2 mcount `a``b", "1 1 1i"},
      {"2 mcount \"a b\"", "1 1 1i"},
      {"2 mcount ()", "`int$()"},
      {"2 mcount (1 2;3)", "'nyi: mcount of a list"},
      {"exec 2 msum size from trade", "100 300 500 700i"},
      {"select 2 mavg price by sym from trade", "([sym:`aig`bac]price:(48.5 48.375;13.75 13.875))"},
      {"exec m from update m:2 mavg price by sym from trade", "48.5 13.75 48.375 13.875"},
      {"update 2 msum a by b from ([]a:1 2 3 4;b:`x`y`x`y)", "([]a:1 2 4 6;b:`x`y`x`y)"},
      {"update m:2 mavg a by b from ([]a:1 2 3;b:`x`y`x) where a>1",
       "([]a:1 2 3;b:`x`y`x;m:0n 2 3)"},
      {"avgs 1 2 3 0n 4 -0w 0w", "1 1.5 2 2 2.5 -0w 0n"},
      {"avgs 1 2i", "1 1.5"},
      {"avgs 5", "5f"},
      {"avgs 0N 1", "0n 1"},
      {"avgs ()", "`float$()"},
      {"avgs `a`b", "'type"},
      {"select avgs price by sym from trade", "([sym:`aig`bac]price:(48.5 48.375;13.75 13.875))"},
  };
  ExpectAll(kPairs);
}

TEST(Moving, ExtremesAndDeviations) {
  constexpr Pair kPairs[] = {
      {"3 mmax 2 7 1 3 5 2 8", "2 7 7 7 5 5 8"},
      {"3 mmax 0N -3 -2 0N 1 0", "-0W -3 -2 -2 1 1"},
      {"2 mmax 1 0N 0N 0N", "1 1 0N 0N"},
      {"1 mmax 0N 2", "0N 2"},
      {"3 mmax 0n 1 0n", "-0w 1 1"},
      {"3 mmin 0N -3 -2 1 -0W 0", "0N 0N 0N -3 -0W -0W"},
      {"3 mmin 0N -3 -2 1 0N -0W", "0N 0N 0N -3 0N 0N"},
      {"2 mmin 0n 1 2", "0n 0n 1"},
      {"2 mmin 5 3 4i", "5 3 3i"},
      {"2 mmax 3 1 2h", "3 3 2h"},
      {"2 mmax 0Nh 1h", "-0W 1h"},
      {"2 mmin \"cab\"", "\"caa\""},
      {"2 mmax 010b", "011b"},
      {"2 mmin 101b", "100b"},
      {"2 mmax 2013.10.08 2013.10.07", "2013.10.08 2013.10.08"},
      {"2 mmax `a`b!1 5", "`a`b!1 5"},
      {"2 mmax `a`b", "'type"},
      {"2 mmin 0Ng 0Ng", "'type"},
      {"2 mmax ()", "()"},
      {"0 mmax 1 2", "'domain"},
      {"exec 2 mmax price from trade", "48.5 48.5 48.25 48.25"},
      {"select 2 mmin size by sym from trade", "([sym:`aig`bac]size:(100 100i;200 200i))"},
      {"2 mdev 1 2 3 5 7 10", "0 0.5 0.5 1 1 1.5"},
      {"5 mdev 1 2 3 5 7 10", "0 0.5 0.8164965809 1.479019946 2.154065923 2.870540019"},
      {"5 mdev 0N 2 0N 5 7 0N", "0n 0 0 1.5 2.054804668 2.054804668"},
      {"2 mdev ()", "`float$()"},
      {"2 mdev `a`b", "'type"},
      {"2 mdev 1e9 1e18 1 2 3", "0 4.999999995e+17 5e+17 0.5 0.5"},
      {"ema[1%3;1 0 0 0 0]", "1 0.6666666667 0.4444444444 0.2962962963 0.1975308642"},
      {"(2%1+10) ema 22.27 22.19 22.08", "22.27 22.25545455 22.22355372"},
      {"0.5 ema 1 2 3", "1 1.5 2.25"},
      {"0.5 0.25 1 ema 1 2 3", "1 1.25 3"},
      {"1 ema 1 2i", "1 2f"},
      {"0.5 ema 1 0n 3", "1 0n 0n"},
      {"0.5 ema 1 2 3e", "1 1.5 2.25"},
      {"0.5 ema ()", "`float$()"},
      {"0.5 ema `a`b!1 2", "`a`b!1 1.5"},
      {"0.5 0.5 ema 1 2 3", "'length"},
      {"`a ema 1 2", "'type"},
      {"0.5 ema `a`b", "'type"},
      {"0.5 ema 09:30 09:31", "'type"},
      {"0.5 ema 1", "'type"},
      {"exec 0.5 ema price from trade where sym=`aig", "48.5 48.375"},
      {"select 0.5 ema price by sym from trade",
       "([sym:`aig`bac]price:(48.5 48.375;13.75 13.875))"},
  };
  ExpectAll(kPairs);
}

TEST(Along, NeighboursRanksAndFills) {
  constexpr Pair kPairs[] = {
      {"fills 0N 2 3 0N 0N 7 0N", "0N 2 3 3 3 7 7"},
      {"fills `x``y```z", "`x`x`y`y`y`z"},
      {"fills \"a  b\"", "\"aaab\""},
      {"fills 1 0n 2e", "1 1 2e"},
      {"fills 01b", "01b"},
      {"fills 0Np 2013.10.07D09:30 0Np",
       "0Np 2013.10.07D09:30:00.000000000 2013.10.07D09:30:00.000000000"},
      {"fills 3", "3"},
      {"fills `long$()", "`long$()"},
      {"fills ()", "()"},
      {"fills (1 0N;0N 2)", "(1 0N;1 2)"},
      {"fills `a`b!1 0N", "`a`b!1 1"},
      {"fills ([]a:1 0N;b:`x`)", "([]a:1 1;b:`x`x)"},
      {"reverse fills reverse 0N 2 3 0N 0N 7 0N", "2 2 3 7 7 7 0N"},
      {"0 ^\\ 0N 0N 3 0N 5", "0 0 3 3 5"},
      {"attr fills asc 1 2", "`"},
      {"update fills c from ([]b:`x`y`x`y;c:1 2 0N 0N)", "([]b:`x`y`x`y;c:1 2 2 2)"},
      {"update fills c by b from ([]b:`x`y`x`y;c:1 2 0N 0N)", "([]b:`x`y`x`y;c:1 2 1 2)"},
      {"update fills c by b from ([]b:`x`y`x`y;c:`p``q`)", "([]b:`x`y`x`y;c:`p``q`)"},
      {"exec fills prev price from trade", "0n 48.5 13.75 48.25"},
      {"2 xprev 1 2 3 4", "0N 0N 1 2"},
      {"-1 xprev 1 2 3", "2 3 0N"},
      {"0 xprev 1 2", "1 2"},
      {"10 xprev 1 2", "0N 0N"},
      {"1 xprev (1;`a;\"c\")", "(0N;1;`a)"},
      {"1 xprev (\"ab\";1)", "(\"\";\"ab\")"},
      {"-0W xprev 1 2", "0N 0N"},
      {"2 xprev `a`b`c", "```a"},
      {"1 xprev \"abc\"", "\" ab\""},
      {"1 xprev `a`b!1 2", "`a`b!0N 1"},
      {"1 xprev ([]a:1 2)", "([]a:0N 1)"},
      {"0N xprev 1 2", "'domain"},
      {"`a xprev 1 2", "'type"},
      {"1 xprev 5", "'type"},
      {"exec 2 xprev size from trade", "0N 0N 100 200i"},
      {"select 1 xprev price by sym from trade", "([sym:`aig`bac]price:(0n 48.5;0n 13.75))"},
      {"differ 1 1 2 2 1", "10101b"},
      {"differ `a`a`b", "101b"},
      {"differ \"aab\"", "101b"},
      {"differ 0n 0n 1", "101b"},
      {"differ 1 1.00000000000000001", "10b"},
      {"differ (\"ab\";\"ab\";\"c\")", "101b"},
      {"differ (1 2;1 2;1)", "101b"},
      {"differ ()", "`boolean$()"},
      {"differ `long$()", "`boolean$()"},
      {"differ enlist 5", ",1b"},
      {"differ ([]a:1 1 1;b:`x`x`y)", "101b"},
      {"differ 5", "'type"},
      {"exec differ sym from trade", "1111b"},
      {"exec differ sym from `sym xasc select sym,size from trade", "1010b"},
      {"select differ size by sym from trade", "([sym:`aig`bac]size:(11b;11b))"},
      {"exec price from trade where differ size div 300", "48.5 48.25"},
      {"rank 2 7 3 2 5", "0 4 2 1 3"},
      {"rank `b`a`c", "1 0 2"},
      {"rank 2 0N 1", "2 0 1"},
      {"rank (\"b\";\"ab\";\"a\")", "2 1 0"},
      {"rank `a`b`c!20 30 10", "1 2 0"},
      {"rank ()", "`long$()"},
      {"rank 5", "'rank"},
      {"rank trade", "0 2 1 3"},
      {"exec rank price from trade", "3 0 2 1"},
      {"select rank price by sym from trade", "([sym:`aig`bac]price:(1 0;0 1))"},
      {"4 xrank til 8", "0 0 1 1 2 2 3 3"},
      {"4 xrank til 9", "0 0 0 1 1 2 2 3 3"},
      {"3 xrank 1 37 5 4 0 3", "0 2 2 1 0 1"},
      {"3 xrank 1 7 5 4 0 3", "0 2 2 1 0 1"},
      {"2 xrank `a`b!5 1", "`a`b!1 0"},
      {"2 xrank ()", "`long$()"},
      {"2 xrank ([]a:3 1 2 1;b:1 9 1 1)", "1 0 1 0"},
      {"2 xrank ([k:`a`b]v:2 1)", "1 0"},
      {"2 xrank 0#([]a:1 2)", "`long$()"},
      {"0W xrank 1 2", "0 4611686018427387903"},
      {"2 xrank 5", "'rank"},
      {"1.5 xrank 1 2", "'type"},
      {"exec 2 xrank price from trade", "1 0 1 0"},
      {"update 2 xrank a by b from ([]a:5 1 3 4;b:`x`y`x`y)", "([]a:1 0 0 1;b:`x`y`x`y)"},
  };
  ExpectAll(kPairs);
}

std::vector<double> RandomItems(std::mt19937_64& rng, size_t n) {
  std::vector<double> items(n);
  for (double& item : items) {
    item = rng() % 5 == 0 ? std::nan("") : static_cast<double>(rng() % 40) / 8 - 2;
  }
  return items;
}

// Goal: each moving function gives its aggregate over each window. Method: random floats with nulls
// and ties; widths from 1 to beyond the end, now and then more than a block of a thousand items.
TEST(Moving, EachItemIsTheAggregateOfItsWindow) {
  const Limits limits;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const size_t n = seed == 0 ? 2500 : rng() % 40, width = 1 + rng() % 12;
    const std::vector<double> items = RandomItems(rng, n);
    Budget budget(limits);
    const Slice slice = Slice::Of(Value::Vector(Type::kFloat, std::span<const double>(items)));
    const Value sums = *MovingSum(width, slice, budget),
                counts = *MovingCount(width, slice, budget),
                averages = *MovingAverage(width, slice, budget),
                deviations = *MovingDeviation(width, slice, budget),
                maxima = *MovingMax(width, slice, budget),
                minima = *MovingMin(width, slice, budget);
    for (size_t i = 0; i < n; ++i) {
      const size_t begin = i + 1 < width ? 0 : i + 1 - width;
      double sum = 0, count = 0, squares = 0, max = std::nan(""), min = std::nan("");
      bool null = false;
      for (size_t j = begin; j <= i; ++j) {
        null |= std::isnan(items[j]);
        if (std::isnan(items[j])) continue;
        sum += items[j];
        ++count;
        max = items[j] <= max ? max : items[j];
        min = items[j] >= min ? min : items[j];
      }
      for (size_t j = begin; j <= i; ++j) {
        if (!std::isnan(items[j])) squares += std::pow(items[j] - sum / count, 2);
      }
      const auto near = [](const Value& vector, size_t at, double expected) {
        const double found = vector.span<double>()[at];
        return std::isnan(expected) ? std::isnan(found) : std::abs(found - expected) < 1e-9;
      };
      ASSERT_TRUE(near(sums, i, sum)) << i;
      ASSERT_EQ(counts.span<int32_t>()[i], static_cast<int32_t>(count)) << i;
      ASSERT_TRUE(near(averages, i, sum / count)) << i;
      ASSERT_TRUE(near(deviations, i, std::sqrt(squares / count))) << i;
      ASSERT_TRUE(near(minima, i, null ? std::nan("") : min)) << i;
      if (count == 0 && i + 1 < width) max = -std::numeric_limits<double>::infinity();
      ASSERT_TRUE(maxima.span<double>()[i] == max || near(maxima, i, max)) << i;
    }
  }
}

// Goal: an item that has left the window leaves no trace. Method: an item that uses up all digits.
TEST(Moving, AWindowForgetsWhatLeavesIt) {
  const Limits limits;
  Budget budget(limits);
  std::vector<double> items(50, 0.1);
  items[10] = 1e300;
  items[20] = std::numeric_limits<double>::infinity();
  const Slice slice = Slice::Of(Value::Vector(Type::kFloat, std::span<const double>(items)));
  const Value sums = *MovingSum(3, slice, budget), deviations = *MovingDeviation(3, slice, budget);
  for (const size_t i : {9u, 13u, 19u, 23u, 49u}) {
    EXPECT_NEAR(sums.span<double>()[i], 0.3, 1e-15) << i;
    EXPECT_NEAR(deviations.span<double>()[i], 0, 1e-15) << i;
  }
}

// Goal: the rank of an item is the number of items that are smaller, or equal and before it.
// Method: random items.
TEST(Ranks, CountTheItemsBefore) {
  const Limits limits;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<int64_t> items(rng() % 30);
    for (int64_t& item : items) item = static_cast<int64_t>(rng() % 8);
    const auto buckets = static_cast<int64_t>(1 + rng() % 6);
    Budget budget(limits);
    const Slice slice = Slice::Of(Value::Vector(Type::kLong, std::span<const int64_t>(items)));
    const Value ranks = *Ranks(slice, budget), of_buckets = *Buckets(buckets, slice, budget);
    for (size_t i = 0; i < items.size(); ++i) {
      int64_t before = 0;
      for (size_t j = 0; j < items.size(); ++j) {
        before += items[j] < items[i] || (items[j] == items[i] && j < i);
      }
      EXPECT_EQ(ranks.span<int64_t>()[i], before);
      EXPECT_EQ(of_buckets.span<int64_t>()[i],
                before * buckets / static_cast<int64_t>(items.size()));
    }
  }
}

TEST(Moving, HostileWidthsEndInLimits) {
  TestEnvironment environment;
  Limits limits;
  limits.max_result_bytes = size_t{1} << 20;
  EXPECT_EQ(environment.Ask("60000 mdev til 60000", limits), "'limit");
  EXPECT_EQ(environment.Ask("count 9223372036854775807 mdev til 1000", limits), "1000");
}

}  // namespace
}  // namespace tickstack::query
