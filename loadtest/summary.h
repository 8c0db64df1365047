#pragma once

// Writes the files of a load test's directory, except the report. docs/loadtest.md has the formats.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loadtest/result.h"

namespace tickstack::loadtest {

// One step of the search for the highest rate.
struct Probe {
  double updates_per_s = 0;
  double seconds = 0;
  bool sustained = false;
  std::string broke;  // What did not hold; empty if the rate was sustained.
  double achieved_per_s = 0;
  std::optional<double> worst_p99_ms;
};
struct FoundMaximum {
  std::string stack;
  double below_ms = 0;
  double updates_per_s = 0;   // 0: not even the first rate held.
  double achieved_per_s = 0;  // Captured updates per second in the confirmation.
  std::string broke;          // What did not hold at the next higher rate.
  std::vector<Probe> probes;
};

struct RunResult {
  Profile profile;
  std::string command;
  std::string queries{kNoClients};  // Name of the set of queries that clients ask.
  int64_t begin_ns = 0;
  std::string failure;  // Empty if the run did not fail.
  std::vector<TestResult> tests;
  std::vector<FoundMaximum> maxima;  // Results of `--find-max`.
};

std::string SummaryJson(const RunResult& run);
std::string SummaryCsv(const RunResult& run);
std::string SamplesCsv(const RunResult& run);
// Returns a table for the terminal: the stacks side by side, with their ratios to the first one.
std::string SideBySide(const TestResult& test);
// Describes what the machine itself adds to a latency: `a bare relay beside them: p50 80 us ...`.
std::string RelayComparison(const Histogram& relay);
// Describes what a successful run has shown: `1,440,000 rows offered, logged and captured: ...`.
std::string EqualRows(const TestResult& test);

}  // namespace tickstack::loadtest
