// Goal: var, dev and med do what the reference says (code.kx.com/q/ref: var, dev, med). Method:
// pairs, and a property test against the definitions.

#include "query/kernels/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "query/pair_testing.h"

namespace tickstack::query {
namespace {

TEST(Statistics, VarianceAndDeviationLeaveNullsOut) {
  constexpr Pair kPairs[] = {
      {"var 2 3 5 7", "3.6875"},
      {"var 2 3 5 0n 7", "3.6875"},
      {"var 2 3 0N 5 7", "3.6875"},
      {"svar 2 3 5 7", "4.916666667"},
      {"dev 10 343 232 55", "134.3484276"},
      {"sdev 10 343 232 55", "155.1322017"},
      {"var 5", "0f"},
      {"var enlist 5", "0f"},
      {"dev 5 5 5", "0f"},
      {"svar enlist 5", "0n"},
      {"sdev 5", "0n"},
      {"var `long$()", "0n"},
      {"dev ()", "0n"},
      {"var 0N 0N", "0n"},
      {"var 0w 1", "0n"},
      {"var 0101b", "0.25"},
      {"var 1 3h", "1f"},
      {"var 1 3e", "1f"},
      {"dev 09:30 09:32", "1f"},
      {"dev 0D00:00:01 0D00:00:03", "1000000000f"},
      {"dev 2013.10.07 2013.10.09", "1f"},
      {"var `a`b!2 4", "1f"},
      {"var \"abc\"", "'type"},
      {"var `a`b", "'type"},
      {"dev `a", "'type"},
      {"var (2 3;4 0N;1 7)", "1.555555556 4"},
      {"svar (2 3;4 0N;1 7)", "2.333333333 8"},
      {"var (1;2.5;0N)", "0.5625"},
      {"dev (1 2;3)", "1 0.5"},
      {"var (1 2;3 4 5)", "'length"},
      {"var (1 2;`a`b)", "'type"},
      {"var ([]a:2 4 1;b:3 0N 7)", "`a`b!1.555555556 4"},
      {"select var size by sym from trade", "([sym:`aig`bac]size:10000 10000f)"},
      {"select dev price,svar price by sym from trade",
       "([sym:`aig`bac]price:0.125 0.125;price1:0.03125 0.03125)"},
      {"exec dev size from trade", "111.8033989"},
      {"exec sdev size from trade where sym=`none", "0n"},
      // Squares of 1e9 would lose all digits of the variance.
      {"var 1000000000.25 1000000000.75", "0.0625"},
  };
  ExpectAll(kPairs);
}

TEST(Statistics, NullsOfAMixedListCountAsZero) {
  constexpr Pair kPairs[] = {
      {"avg (1;0n;2;3)", "1.5"},    {"sum (1;0n;2;3)", "6f"},   {"sum (1;0N;2i)", "3"},
      {"sum (0n 8;8 0n)", "0n 0n"}, {"avg (1 2;0N 4)", "0n 3"},
  };
  ExpectAll(kPairs);
}

TEST(Statistics, MedianCountsNullsAsTheSmallest) {
  constexpr Pair kPairs[] = {
      {"med 10 34 23 123 5 56", "28.5"},
      {"med 3 1 2", "2f"},
      {"med 4 1 2 3", "2.5"},
      {"med 5", "5f"},
      {"med enlist 5", "5f"},
      {"med `long$()", "0n"},
      {"med 0N 1 3", "1f"},
      {"med 0N 1", "1f"},
      {"med 0N 0N 1", "0n"},
      {"med 0n 2 4 6", "3f"},
      {"med 1 2i", "1.5"},
      {"med 101b", "1f"},
      {"med 09:30 09:32 09:40", "572f"},
      {"med 2013.10.07 2013.10.09", "5029f"},
      {"med `a`b`c!3 1 2", "2f"},
      {"med \"abc\"", "'type"},
      {"med `a`b", "'type"},
      {"med (1 2;3 4)", "2 3f"},
      {"med `a`b!(10 -21 3;4 5 -6)", "7 -8 -1.5"},
      {"med ([k:1 2 3]a:10 -21 3)", ",`a!,3f"},
      {"select med size by sym from trade", "([sym:`aig`bac]size:200 300f)"},
      {"select med bid,med ask by sym from quote",
       "([sym:`aig`bac]bid:48.25 13.625;ask:48.5 13.875)"},
      {"exec med price from trade where sym=`bac", "13.875"},
  };
  ExpectAll(kPairs);
}

double Mean(const std::vector<double>& items) {
  double sum = 0, count = 0;
  for (double item : items) {
    if (std::isnan(item)) continue;
    sum += item;
    ++count;
  }
  return sum / count;
}

// Goal: med and var agree with the reference's definitions: med averages the middle items of the
// sorted list, var is the mean of the squared differences to the mean. Method: random lists with
// ties and nulls.
TEST(Statistics, AgreeWithTheirDefinitions) {
  const Limits limits;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<double> items(1 + rng() % 40);
    for (double& item : items) {
      item = rng() % 5 == 0 ? std::nan("") : static_cast<double>(rng() % 20) / 4 - 2;
    }
    Budget budget(limits);
    const Slice slice = Slice::Of(Value::Vector(Type::kFloat, std::span<const double>(items)));
    const auto close = [](const absl::StatusOr<Value>& value, double expected) {
      const double found = value->as<double>();
      if (std::isnan(expected)) return std::isnan(found);
      return std::abs(found - expected) < 1e-12;
    };
    std::vector<double> squares;
    for (double item : items) squares.push_back(std::pow(item - Mean(items), 2));
    EXPECT_TRUE(close(Variance(slice, budget), Mean(squares)));
    EXPECT_TRUE(close(Deviation(slice, budget), std::sqrt(Mean(squares))));

    std::ranges::sort(items,
                      [](double a, double b) { return std::isnan(a) ? !std::isnan(b) : a < b; });
    const std::vector<double> middle = {items[(items.size() - 1) / 2], items[items.size() / 2]};
    EXPECT_TRUE(close(Median(slice, budget), Mean(middle)));
  }
}

}  // namespace
}  // namespace tickstack::query
