#pragma once

// The values that charts show over time. The samples of each test are thinned to a fixed number of
// time slices. A slice keeps the smallest and the largest value in it, so that no peak is lost.

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/report/run.h"

namespace tickstack::loadtest::report {

// The smallest and the largest value in a slice; least > most if nothing was measured.
struct Extremes {
  float least = 3e38f, most = -3e38f;
  bool empty() const { return least > most; }
  void Add(float value);
  void Add(const Extremes& other);
};

// The extremes of one value in each slice of a test. All series of a test have the same length.
using Series = std::vector<Extremes>;

struct StackSeries {
  // The extremes over all rdbs of the stack.
  std::array<Series, kMetrics> metrics;
  // Bytes in use by tier, then rdb.
  std::map<std::string, std::map<std::string, Series>> tiers;

  // Returns the bytes in use of one tier over all rdbs at the end of each slice. An rdb without a
  // sample in a slice keeps its last value; a slice before its first one is NaN.
  std::vector<double> TierTotal(const std::string& tier) const;
};

struct TestSeries {
  double slice_s = 1;
  std::vector<StackSeries> stacks;
};

// Reads samples.csv. Each series has about `points_max` / number of series slices, at least 48 and
// at most 160. A slice is at least as long as eight query intervals. In a short test it may be
// shorter: at least a twentieth of the test and one query interval. If a test took longer than
// planned, slices become longer. Errors: those of ReadSamples; kResourceExhausted for more than 256
// rdbs in a stack, or more than 10,000 series of tiers in the run.
absl::StatusOr<std::vector<TestSeries>> ReadSeries(const RunFiles& run, size_t points_max = 60'000);

}  // namespace tickstack::loadtest::report
