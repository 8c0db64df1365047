#pragma once

// What a load test leaves in its directory, but for the report: docs/loadtest.md has the formats.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "loadtest/result.h"

namespace tickstack::loadtest {

// A step of the search for the highest rate.
struct Probe {
  double updates_per_s = 0;
  double seconds = 0;
  bool sustained = false;
  std::string broke;  // What did not hold, if it was not sustained.
  double achieved_per_s = 0;
  std::optional<double> worst_p99_ms;
};
struct FoundMaximum {
  std::string stack;
  double below_ms = 0;
  double updates_per_s = 0;   // 0: not even the first probe held.
  double achieved_per_s = 0;  // Of the confirmation at that rate.
  std::string broke;          // What the next step broke.
  std::vector<Probe> probes;
};

struct RunResult {
  Profile profile;
  std::string command;
  std::string queries{kNoClients};  // The name of the set that clients ask.
  int64_t begin_ns = 0;
  std::string failure;  // Empty: none.
  std::vector<TestResult> tests;
  std::vector<FoundMaximum> maxima;  // Of `--find-max`.
};

std::string SummaryJson(const RunResult& run);
std::string SummaryCsv(const RunResult& run);
std::string SamplesCsv(const RunResult& run);
// For the terminal: the stacks side by side, with the ratio to the first one.
std::string SideBySide(const TestResult& test);
// `a bare relay beside them: p50 80 us ...`: what the machine itself adds to a latency.
std::string BesideTheRelay(const Histogram& relay);
// What a run that did not fail has shown: `1,440,000 rows offered, logged and captured: ...`.
std::string EqualRows(const TestResult& test);

}  // namespace tickstack::loadtest
