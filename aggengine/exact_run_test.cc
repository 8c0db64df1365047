#include "aggengine/exact_run.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tickstack::aggengine {
namespace {

struct Sum {
  uint64_t words[kExactWords] = {};
  friend bool operator==(const Sum&, const Sum&) = default;
};

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
TEST(ExactRun, AddsTheBitsOfItsTerms) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Sum expected, found;
    AddExact(-12.34, expected.words);
    AddExact(-12.34, found.words);
    ExactRun run;
    for (uint64_t terms = rng() % 400; terms > 0; --terms) {
      const double a = AnyValue(rng, 59), b = AnyValue(rng, 59);
      const auto ns = static_cast<int64_t>(rng() >> (17 + rng() % 40));  // Below 2^47.
      switch (rng() % 3) {
        case 0:
          AddExact(a, expected.words);
          run.Add(a);
          break;
        case 1:
          if (!InRange(a * b)) break;
          AddExactProduct(a, b, expected.words);
          run.AddProduct(a, b);
          break;
        default:
          AddExactOverTime(a, ns, false, expected.words);
          run.AddOverTime(a, ns);
      }
    }
    run.AddTo(found.words);
    ASSERT_EQ(found, expected);
    // It can be added to another sum as well.
    Sum other;
    AddExact(12.34, other.words);
    run.AddTo(other.words);
    AddExact(-12.34, other.words);
    AddExact(-12.34, other.words);
    ASSERT_EQ(other, expected);
  }
}

// Goal: the register never overflows. Method: adds the largest terms of one sign, as many as the
// register takes before it is emptied.
TEST(ExactRun, HoldsItsLargestTerms) {
  const double largest = std::nextafter(0x1p38, 0);
  for (const double sign : {1.0, -1.0}) {
    Sum expected, found;
    ExactRun run;
    for (int i = 0; i < 1000; ++i) {
      AddExact(sign * largest, expected.words);
      run.Add(sign * largest);
    }
    run.AddTo(found.words);
    EXPECT_EQ(found, expected);
  }
}

TEST(ExactRun, OfNothingAddsNothing) {
  Sum expected, found;
  AddExact(0.1, expected.words);
  AddExact(0.1, found.words);
  ExactRun().AddTo(found.words);
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace tickstack::aggengine
