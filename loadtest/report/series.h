#pragma once

// What the charts show over time: the samples of a run, thinned to a fixed number of time slices
// for each test. Each slice has the smallest and the largest value that fell into it, so that no
// peak is lost.

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/report/run.h"

namespace tickstack::loadtest::report {

// The extremes of a slice; least > most if nothing was measured.
struct Extremes {
  float least = 3e38f, most = -3e38f;
  bool empty() const { return least > most; }
  void Add(float value);
  void Add(const Extremes& other);
};

// A value over the slices of a test. All series of a test have the same length.
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

// Reads samples.csv. Memory: at most `points_max` numbers, and at most some dozen for each series.
// A slice is at least as long as eight questions, or a twentieth of a short test. A test that took
// longer than planned gets wider slices, not more of them. Errors: those of ReadSamples;
// kResourceExhausted beyond 256 rdbs in a stack, or 10,000 in the run (counted for each tier).
absl::StatusOr<std::vector<TestSeries>> ReadSeries(const RunFiles& run, size_t points_max = 60'000);

}  // namespace tickstack::loadtest::report
