#pragma once

// What the charts show over time: the samples of a run, thinned to a fixed number of time slices
// per test, each with the smallest and the largest value that fell into it, so that no peak is
// lost.

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/report_run.h"

namespace tickstack::loadtest::report {

// The least and the most of a slice; least > most where nothing was measured.
struct Extremes {
  float least = 3e38f, most = -3e38f;
  bool empty() const { return least > most; }
  void Add(float value);
  void Add(const Extremes& other);
};

// A value over the slices of a test. All series of a test have as many.
using Series = std::vector<Extremes>;

struct StackSeries {
  // Of all of the stack's rdbs together: the worst of them is the most.
  std::array<Series, kMetrics> metrics;
  // Bytes in use by tier, then rdb.
  std::map<std::string, std::map<std::string, Series>> tiers;

  // Bytes in use of one tier in all rdbs at the end of each slice; an rdb that said nothing in a
  // slice still has what it had. NaN before the first word.
  std::vector<double> TierTotal(const std::string& tier) const;
};

struct TestSeries {
  double slice_s = 1;
  std::vector<StackSeries> stacks;
};

// Reads samples.csv. Memory: at most `points_max` numbers, and no more than some dozen a series.
// A slice is as long as eight questions at least, or a twentieth of a short test. A test that went
// on for longer than it was to has wider slices, not more. Errors: as ReadSamples;
// kResourceExhausted beyond 256 rdbs in a stack, or 10,000 of them in the run, counted for each
// tier.
absl::StatusOr<std::vector<TestSeries>> ReadSeries(const RunFiles& run, size_t points_max = 60'000);

}  // namespace tickstack::loadtest::report
