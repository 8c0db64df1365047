#pragma once

// How far a figure of one run would move if the run were repeated, as far as the run itself can
// tell: by what it did from one slice of time to the next.
//
// Values that follow one another are alike (a stall makes twenty slow answers, not one), so single
// values cannot be drawn anew. Slices of seconds can: a block bootstrap draws as many slices as
// there were, with replacement, takes the quantile of all their values, does that some hundred
// times, and looks at how the quantiles scatter. What lasts for longer than a slice it
// underestimates, and what changes only between runs it cannot see.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tickstack::loadtest::report {

// Values with the number of the slice of time that each fell into.
struct SlicedValues {
  std::vector<float> values;
  std::vector<uint32_t> slices;

  void Add(uint32_t slice, float value) {
    slices.push_back(slice);
    values.push_back(value);
  }
};

// The variance of a logarithm, and what it is known from: 0.02 squared is a standard error of 2 %.
struct Spread {
  double variance = 0;
  double degrees = 0;  // Of freedom, as of Student's t.
};

// Returns the spreads of the logarithms of these quantiles (0 < q < 1). nullopt if there are fewer
// than 6 slices with values, fewer than 10 values beyond a quantile, or values of 0 or less, which
// have no logarithm. Cost: 300 passes over the values. Deterministic.
std::vector<std::optional<Spread>> QuantileSpreads(const SlicedValues& values,
                                                   const std::vector<double>& quantiles);

// Returns the spread of the logarithm of the number of values per slice, over the slices from the
// first with a value to the last but one.
std::optional<Spread> RateSpread(const SlicedValues& values);

// Returns the spread of the logarithm of a run's median, estimated from the medians of its slices
// as batch means. nullopt if there are fewer than 6 slices with 10 or more values.
std::optional<Spread> MedianSpread(const std::vector<std::pair<double, int64_t>>& medians);

// Returns the two-sided quantile of Student's t distribution: the t that is exceeded in either
// direction with this probability (0 < probability < 1, degrees > 0).
double TwoSidedT(double probability, double degrees);

}  // namespace tickstack::loadtest::report
