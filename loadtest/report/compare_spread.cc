#include "loadtest/report/compare_spread.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace tickstack::loadtest::report {
namespace {

constexpr size_t kSlicesMin = 6;
constexpr double kBeyondMin = 10;
constexpr int kDraws = 300;

double VarianceOf(const std::vector<double>& numbers) {
  const auto count = static_cast<double>(numbers.size());
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
  double squares = 0;
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  return squares / (count - 1);
}

// Evaluates the continued fraction of the incomplete beta function by Lentz's method (Press and
// others, Numerical Recipes, section 6.4).
double BetaFraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  double c = 1;
  double d = 1 - (a + b) * x / (a + 1);
  d = 1 / (std::abs(d) < kTiny ? kTiny : d);
  double result = d;
  for (int m = 1; m < 500; ++m) {
    for (const bool even : {true, false}) {
      const double numerator = even ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                                    : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
      d = 1 + numerator * d;
      d = 1 / (std::abs(d) < kTiny ? kTiny : d);
      c = 1 + numerator / c;
      if (std::abs(c) < kTiny) c = kTiny;
      result *= d * c;
    }
    if (std::abs(d * c - 1) < 1e-14) break;
  }
  return result;
}

double IncompleteBeta(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on one side of the mean only; the other side follows by symmetry.
  if (x < (a + 1) / (a + b + 2)) return front * BetaFraction(a, b, x) / a;
  return 1 - front * BetaFraction(b, a, 1 - x) / b;
}

// Values in ascending order, with their slices renumbered from 0 without gaps.
struct Sorted {
  std::vector<float> values;
  std::vector<uint32_t> slices;
  size_t slice_count = 0;
};

Sorted SortedOf(const SlicedValues& given) {
  std::map<uint32_t, uint32_t> numbers;
  for (const uint32_t slice : given.slices) numbers.emplace(slice, 0);
  uint32_t next = 0;
  for (auto& [slice, number] : numbers) number = next++;
  std::vector<size_t> order(given.values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&given](size_t a, size_t b) { return given.values[a] < given.values[b]; });
  Sorted sorted;
  sorted.slice_count = numbers.size();
  for (const size_t i : order) {
    sorted.values.push_back(given.values[i]);
    sorted.slices.push_back(numbers[given.slices[i]]);
  }
  return sorted;
}

}  // namespace

std::vector<std::optional<Spread>> QuantileSpreads(const SlicedValues& given,
                                                   const std::vector<double>& quantiles) {
  std::vector<std::optional<Spread>> spreads(quantiles.size());
  const Sorted sorted = SortedOf(given);
  const auto count = static_cast<double>(sorted.values.size());
  if (sorted.slice_count < kSlicesMin || sorted.values.front() <= 0) return spreads;

  std::vector<uint32_t> sizes(sorted.slice_count), times(sorted.slice_count);
  for (const uint32_t slice : sorted.slices) ++sizes[slice];
  std::mt19937_64 random(1);
  std::vector<std::vector<double>> drawn(quantiles.size());
  for (int draw = 0; draw < kDraws; ++draw) {
    std::fill(times.begin(), times.end(), 0);
    double total = 0;
    for (size_t i = 0; i < times.size(); ++i) {
      // The remainder's bias is 2^-50 here. The library's distributions would differ between
      // implementations.
      const size_t slice = random() % times.size();
      ++times[slice];
      total += sizes[slice];
    }
    for (size_t q = 0; q < quantiles.size(); ++q) {
      const double rank = std::max(1.0, std::ceil(quantiles[q] * total));
      double below = 0;
      size_t at = 0;
      while (at < sorted.values.size()) {
        below += times[sorted.slices[at]];
        if (below >= rank) break;
        ++at;
      }
      drawn[q].push_back(std::log(sorted.values[std::min(at, sorted.values.size() - 1)]));
    }
  }
  const auto slices = static_cast<double>(sorted.slice_count);
  for (size_t q = 0; q < quantiles.size(); ++q) {
    if (count * std::min(quantiles[q], 1 - quantiles[q]) < kBeyondMin) continue;
    // Drawing n of n with replacement makes the variance too small by (n - 1) / n.
    spreads[q] = {.variance = VarianceOf(drawn[q]) * slices / (slices - 1), .degrees = slices - 1};
  }
  return spreads;
}

std::optional<Spread> RateSpread(const SlicedValues& values) {
  if (values.slices.empty()) return std::nullopt;
  const auto [first, last] = std::minmax_element(values.slices.begin(), values.slices.end());
  if (*last - *first < kSlicesMin) return std::nullopt;
  std::map<uint32_t, double> counts;
  for (const uint32_t slice : values.slices) ++counts[slice];
  std::vector<double> numbers;
  for (uint32_t slice = *first; slice < *last; ++slice) {
    const auto found = counts.find(slice);
    numbers.push_back(found == counts.end() ? 0 : found->second);
  }
  const auto slices = static_cast<double>(numbers.size());
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / slices;
  return Spread{.variance = VarianceOf(numbers) / (mean * mean) / slices, .degrees = slices - 1};
}

std::optional<Spread> MedianSpread(const std::vector<std::pair<double, int64_t>>& medians) {
  constexpr int64_t kCountMin = 10;
  std::vector<double> logs;
  for (const auto& [median, count] : medians) {
    if (count >= kCountMin && median > 0) logs.push_back(std::log(median));
  }
  if (logs.size() < kSlicesMin) return std::nullopt;
  const auto slices = static_cast<double>(logs.size());
  return Spread{.variance = VarianceOf(logs) / slices, .degrees = slices - 1};
}

double TwoSidedT(double probability, double degrees) {
  const auto beyond = [degrees](double t) {
    return IncompleteBeta(degrees / 2, 0.5, degrees / (degrees + t * t));
  };
  double low = 0, high = 1;
  while (beyond(high) > probability && high < 1e12) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-12 * high; ++i) {
    const double middle = (low + high) / 2;
    (beyond(middle) > probability ? low : high) = middle;
  }
  return high;
}

}  // namespace tickstack::loadtest::report
