#pragma once

// What a run says in words: one sentence, what failed, and where the limits were. All of it is
// plain text, computed from the files.

#include <string>
#include <vector>

#include "loadtest/report_run.h"
#include "loadtest/report_series.h"

namespace tickstack::loadtest::report {

// What was compared, what came out. Of several tests, the one that was worst for freshness.
std::string StorySentence(const RunFiles& run);

// Everything that went wrong, most general first: the run's reason, stacks that failed, rows that
// are missing though no stack says so. Empty if nothing did.
std::vector<std::string> Failures(const RunFiles& run);

struct Limit {
  bool reached;  // False: there was room.
  std::string text;
};

// CPU, tiers, the rate, and whether latency grew over the test.
std::vector<Limit> Limits(const RunFiles& run, const TestResult& test, const TestSeries& series);

}  // namespace tickstack::loadtest::report
