#pragma once

// Estimates how much a figure of a run would move if the run were repeated, from the run alone: by
// how much it moved from one slice of time to the next.
//
// Successive values are alike (one stall makes twenty slow answers), so single values must not be
// resampled. Slices of some seconds can be: a block bootstrap draws as many slices as there were,
// with replacement, takes the quantile of all their values, repeats that a few hundred times, and
// measures how much the quantiles scatter. It underestimates effects that last longer than a slice,
// and it cannot see what changes only between runs.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tickstack::loadtest::report {

// Values, each with the number of its slice of time.
struct SlicedValues {
  std::vector<float> values;
  std::vector<uint32_t> slices;

  void Add(uint32_t slice, float value) {
    slices.push_back(slice);
    values.push_back(value);
  }
};

// The variance of a logarithm (0.02 squared is a standard error of 2 %), with its certainty.
struct Spread {
  double variance = 0;
  double degrees = 0;  // Degrees of freedom, for Student's t.
};

// True if at least 10 of `count` values lie beyond the quantile, on either side. With fewer, chance
// decides about the quantile.
bool EnoughValues(double count, double quantile);

// Returns the spreads of the logarithms of these quantiles (0 < q < 1). A spread is nullopt if
// fewer than 6 slices have values, if there are not EnoughValues, or if any value is 0 or less,
// since it has no logarithm. Cost: 300 passes over the values. Deterministic.
std::vector<std::optional<Spread>> QuantileSpreads(const SlicedValues& values,
                                                   const std::vector<double>& quantiles);

// Returns the spread of the logarithm of the number of values per slice, over the slices from the
// first with a value to the last but one.
std::optional<Spread> RateSpread(const SlicedValues& values);

// Returns the spread of the logarithm of a run's median, estimated from the medians of its slices
// as batch means. nullopt if there are fewer than 6 slices with 10 or more values.
std::optional<Spread> MedianSpread(const std::vector<std::pair<double, int64_t>>& medians);

// Returns the two-sided quantile of Student's t distribution: the t that is exceeded in either
// direction with this probability (0 < probability < 1, degrees > 0). Returns NaN for NaN degrees.
double TwoSidedT(double probability, double degrees);

}  // namespace tickstack::loadtest::report
