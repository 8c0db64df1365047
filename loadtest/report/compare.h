#pragma once

// Compares two runs of the load test: which figures differ by more than their spread explains.
//
// Stacks are compared if they have the same timers, placement and number of RDBs. A run's figure is
// the geometric mean over such stacks, and the ratio of the two runs' figures is judged.
//
// The spread of a figure is the larger of two. The first comes from within a stack: a block
// bootstrap over slices of time (compare_spread.h), each a twelfth of the test long, but 1 to 10 s.
// The second comes from between stacks, if a run has several of a kind. It says how much stacks of
// one kind differ, pooled for each figure over all kinds and both runs, since two stacks alone say
// little. If the difference within the figure's own kind is larger, that one counts. A figure that
// has neither spread is shown but not judged. An example is the longest value: it is a single
// value, and nothing tells how much the next run's would differ.
//
// A change counts as a difference if it exceeds its spread times Student's t for a probability of
// kFalsePositives divided by the number of judged figures (Bonferroni). So of a hundred comparisons
// of runs that differ by chance only, at most one reports any difference. Changes below
// kLeastChange never count. What changes on a machine between runs (neighbours, temperature, where
// memory is allocated) is not chance within a run, so it does count as a difference.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/report/run.h"

namespace tickstack::loadtest::report {

inline constexpr double kFalsePositives = 0.01;
inline constexpr double kLeastChange = 0.01;

enum class Verdict { kSame, kMore, kLess, kNotJudged };

struct FigureComparison {
  std::string quantity, statistic;  // `quote_bar_lag`, `p99_ms`.
  std::optional<double> a, b;       // nullopt: not measured.
  std::optional<double> change;     // b / a - 1.
  // Chance explains changes from LeastCovered(spread) to `spread`, and all below kLeastChange.
  std::optional<double> spread;
  Verdict verdict = Verdict::kNotJudged;
  std::string basis;  // What the spread was computed from, or why there is none.
};

struct StackComparison {
  double batch_ms = 0, query_ms = 0;
  std::string placement;
  bool simulated = false;
  int64_t rdbs = 1;
  size_t stacks_a = 0, stacks_b = 0;
  std::vector<FigureComparison> figures;
};

struct Comparison {
  RunFiles a, b;
  std::vector<StackComparison> stacks;
  std::vector<std::string> only_in_one;  // Kinds of stacks that only one run has.
  // Other differences between the runs, such as the rate or the machine.
  std::vector<std::string> unlike;
  size_t judged = 0, differences = 0;
};

// Returns the negative change that is as likely by chance as the positive change `most`: 1 / (1 +
// most) - 1, since changes are judged by their logarithms.
constexpr double LeastCovered(double most) { return 1 / (1 + most) - 1; }

// Memory: the samples of both runs, at most 200,000 for each stack. Errors: those of ReadRun and
// ReadSamples; kResourceExhausted for more samples.
absl::StatusOr<Comparison> CompareRuns(const std::string& directory_a,
                                       const std::string& directory_b);

// Return the comparison as text for a terminal, and as JSON (its fields are in docs/loadtest.md).
std::string ComparisonText(const Comparison& comparison);
std::string ComparisonJson(const Comparison& comparison);

}  // namespace tickstack::loadtest::report
