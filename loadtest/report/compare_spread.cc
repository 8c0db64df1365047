#include "loadtest/report/compare_spread.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

namespace tickstack::loadtest::report {
namespace {

constexpr size_t kSlicesMin = 6;
constexpr int kDraws = 300;

double VarianceOf(const std::vector<double>& numbers) {
  const auto count = static_cast<double>(numbers.size());
  const double mean = std::accumulate(numbers.begin(), numbers.end(), 0.0) / count;
  double squares = 0;
  for (const double number : numbers) squares += (number - mean) * (number - mean);
  return squares / (count - 1);
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

bool EnoughValues(double count, double quantile) {
  constexpr double kBeyondMin = 10, kRounding = 1e-9;
  return count * std::min(quantile, 1 - quantile) >= kBeyondMin - kRounding;
}

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
    if (!EnoughValues(count, quantiles[q])) continue;
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
  // Boost's default is to throw. Degrees can be NaN if a run's files have absurd figures.
  using boost::math::policies::ignore_error;
  using NoThrow =
      boost::math::policies::policy<boost::math::policies::domain_error<ignore_error>,
                                    boost::math::policies::pole_error<ignore_error>,
                                    boost::math::policies::overflow_error<ignore_error>,
                                    boost::math::policies::evaluation_error<ignore_error>>;
  const boost::math::students_t_distribution<double, NoThrow> distribution(degrees);
  return boost::math::quantile(boost::math::complement(distribution, probability / 2));
}

}  // namespace tickstack::loadtest::report
