#include "aggengine/exact_integral.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tickstack::aggengine {
namespace {

void ExpectEqual(const ExactIntegral& found, const ExactIntegral& expected) {
  EXPECT_EQ(found.sum, expected.sum);
  EXPECT_EQ(found.over_ns, expected.over_ns);
}

// Goal: every stretch has the bits of its terms added one by one. Method: rows of several symbols
// behind one another, with ties, nulls, infinities, values from below the unit to beyond the range,
// and gaps from nothing to a day; stretches of every length around the 256 that are added at once.
TEST(ExactIntegrals, OfAStretchAreThoseOfItsTerms) {
  ExactIntegrals integrals;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<int64_t> times;
    std::vector<double> values;
    std::vector<std::pair<size_t, size_t>> stretches;
    for (int symbol = 0; symbol < 6; ++symbol) {
      const size_t begin = times.size();
      auto time_ns = static_cast<int64_t>(rng() >> 2) * (rng() % 2 == 0 ? 1 : -1);
      for (uint64_t rows = 1 + rng() % (symbol == 0 ? 1200 : 8); rows > 0; --rows) {
        time_ns += rng() % 4 == 0 ? 0 : static_cast<int64_t>(rng() >> (18 + rng() % 40));
        times.push_back(time_ns);
        const double price = static_cast<double>(rng() % 2000) / 100 - 5;
        const double odd[] = {std::numeric_limits<double>::quiet_NaN(),
                              -std::numeric_limits<double>::infinity(),
                              std::ldexp(1.1, static_cast<int>(rng() % 200) - 120), -0.0};
        values.push_back(rng() % 8 == 0 ? odd[rng() % 4] : price);
      }
      stretches.emplace_back(begin, times.size());
    }
    integrals.Load(times, values);
    for (const auto& [begin, end] : stretches) {
      ExactIntegral expected, found;
      expected.Add(0.25, 7);
      found.Add(0.25, 7);
      for (size_t i = begin + 1; i < end; ++i) expected.Add(values[i - 1], times[i] - times[i - 1]);
      integrals.AddTo(begin, end, found);
      ExpectEqual(found, expected);
    }
  }
}

// Goal: 256 of the largest terms that are added at once do not overflow.
TEST(ExactIntegrals, HoldTheirLargestTerms) {
  std::vector<int64_t> times;
  std::vector<double> values;
  for (int64_t i = 0; i < 600; ++i) {
    times.push_back(i << 20);
    values.push_back(std::nextafter(0x1p18, 0) * (i < 300 ? 1 : -1));
  }
  ExactIntegrals integrals;
  integrals.Load(times, values);
  ExactIntegral expected, found;
  for (size_t i = 1; i < 300; ++i) expected.Add(values[i - 1], times[i] - times[i - 1]);
  integrals.AddTo(0, 300, found);
  ExpectEqual(found, expected);
  ExactIntegral all_expected, all;
  for (size_t i = 1; i < 600; ++i) all_expected.Add(values[i - 1], times[i] - times[i - 1]);
  integrals.AddTo(0, 600, all);
  ExpectEqual(all, all_expected);
}

}  // namespace
}  // namespace tickstack::aggengine
