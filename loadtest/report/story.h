#pragma once

// A run in words: one sentence, the failures, and the limits that were reached. All of it is plain
// text, computed from the files.

#include <string>
#include <vector>

#include "loadtest/report/run.h"
#include "loadtest/report/series.h"

namespace tickstack::loadtest::report {

// Returns what was compared and what came out. If there are several tests, describes the one with
// the highest latency relative to its publish interval.
std::string StorySentence(const RunFiles& run);

// Returns everything that went wrong, the most general first: the run's reason, failed stacks, and
// missing rows that no stack reports. Empty if nothing went wrong.
std::vector<std::string> Failures(const RunFiles& run);

struct Limit {
  bool reached;  // False if there was room left.
  std::string text;
};

// Returns the limits of CPU, tiers and rate, and whether latency grew during the test.
std::vector<Limit> Limits(const RunFiles& run, const RecordedTest& test, const TestSeries& series);

}  // namespace tickstack::loadtest::report
