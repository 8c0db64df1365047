#include "aggengine/exact_sum_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tickstack::aggengine {
namespace {

// Returns values of all sizes that a sum takes: mostly prices, others from below its unit to 2^79.
double AnyValue(std::mt19937_64& rng, int exponent_max) {
  const double sign = rng() % 2 == 0 ? 1 : -1;
  if (rng() % 20 == 0) return sign * 0.0;
  if (rng() % 4 != 0) return sign * static_cast<double>(rng() % 100'000) / 100;
  const int exponent = static_cast<int>(rng() % static_cast<uint64_t>(exponent_max + 160)) - 160;
  return sign * std::ldexp(1 + static_cast<double>(rng() >> 12) * 0x1p-52, exponent);
}

// Goal: a run adds the same bits as its terms one by one. Method: runs of about 128 terms and more,
// after which the register is emptied, with terms that do not fit it, onto a sum that is not empty.
TEST(ExactSumRun, AddsTheBitsOfItsTerms) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    ExactSum expected, found;
    expected.Add(-12.34);
    found.Add(-12.34);
    ExactSumRun run;
    for (uint64_t terms = rng() % 400; terms > 0; --terms) {
      const double a = AnyValue(rng, 59), b = AnyValue(rng, 59);
      const auto ns = static_cast<int64_t>(rng() >> (17 + rng() % 40));  // Below 2^47.
      switch (rng() % 3) {
        case 0:
          expected.Add(a);
          run.Add(a);
          break;
        case 1:
          if (!InRange(a * b)) break;
          expected.AddProduct(a, b);
          run.AddProduct(a, b);
          break;
        default:
          expected.AddOverTime(a, ns);
          run.AddOverTime(a, ns);
      }
    }
    run.AddTo(found);
    ASSERT_EQ(found, expected);
    // It can be added to another sum as well.
    ExactSum other;
    other.Add(12.34);
    run.AddTo(other);
    other.Add(-12.34);
    other.Add(-12.34);
    ASSERT_EQ(other, expected);
  }
}

// Goal: the register never overflows. Method: adds the largest terms of one sign, as many as the
// register takes before it is emptied.
TEST(ExactSumRun, HoldsItsLargestTerms) {
  const double largest = std::nextafter(0x1p38, 0);
  for (const double sign : {1.0, -1.0}) {
    ExactSum expected, found;
    ExactSumRun run;
    for (int i = 0; i < 1000; ++i) {
      expected.Add(sign * largest);
      run.Add(sign * largest);
    }
    run.AddTo(found);
    EXPECT_EQ(found, expected);
  }
}

TEST(ExactSumRun, OfNothingAddsNothing) {
  ExactSum expected, found;
  expected.Add(0.1);
  found.Add(0.1);
  ExactSumRun().AddTo(found);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tickstack::aggengine
