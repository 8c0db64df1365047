#pragma once

// Two runs of the load test side by side: which figures differ by more than their spread covers.
//
// What is compared: stacks of the same timers, placement and number of RDBs. A figure of a run is
// the geometric mean over its stacks, and what is judged is the ratio of the two runs' figures.
//
// Its spread is the larger of two. Within: the block bootstrap over slices of time
// (compare_spread.h), a twelfth of the test long, from 1 to 10 s. Between: where a run has several
// stacks of a kind, how they differ, pooled over all kinds and both runs for each figure, since two
// stacks alone say little, or those of the kind alone if they differ more. A figure without either
// is shown and not judged: the longest value is one value, and nothing tells how the next run's
// would differ.
//
// A difference is called so if it is larger than its spread times Student's t, for a probability of
// kFalsePositives divided by the number of judged figures (Bonferroni): of a hundred comparisons of
// runs that are alike in all but chance, one at most names any difference. Below kLeastChange
// nothing is called one. What changes on a machine between runs (neighbours, temperature, where
// memory lies) is not chance within a run: it counts as a difference.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/report_run.h"

namespace tickstack::loadtest::report {

inline constexpr double kFalsePositives = 0.01;
inline constexpr double kLeastChange = 0.01;

enum class Verdict { kSame, kMore, kLess, kNotJudged };

struct FigureComparison {
  std::string quantity, statistic;  // `quote_bar_lag`, `p99_ms`.
  std::optional<double> a, b;       // nullopt: not measured.
  std::optional<double> change;     // b / a - 1.
  std::optional<double>
      spread;  // Changes up to plus or minus this are covered, or lie below kLeastChange.
  Verdict verdict = Verdict::kNotJudged;
  std::string basis;  // What the spread is from, or why there is none.
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
  std::vector<std::string> only_in_one;  // What has no counterpart.
  std::vector<std::string> unlike;       // What else differs, such as rate or machine.
  size_t judged = 0, differences = 0;
};

// Memory: the samples of both runs, at most 200,000 of a stack. Errors: as ReadRun and ReadSamples;
// kResourceExhausted beyond that number.
absl::StatusOr<Comparison> CompareRuns(const std::string& directory_a,
                                       const std::string& directory_b);

// For a person, and as JSON (docs/loadtest.md has its fields).
std::string ComparisonText(const Comparison& comparison);
std::string ComparisonJson(const Comparison& comparison);

}  // namespace tickstack::loadtest::report
