#pragma once

// `tickstack report DIR` writes the page of a load test's run again, from the run's files.
// `tickstack compare A B` compares two runs.

#include <string>

namespace tickstack::cli {

// Prints the page's path to stdout, errors to stderr. Returns the exit code: 0, or 1 if it failed.
// Threads: the main one.
int RunReport(const std::string& run_directory);

struct CompareOptions {
  std::string first, second;
  bool json = false;  // True: print one JSON object.
};

// `tickstack compare A B [--json]`: prints to stdout which figures of two runs differ by more than
// their spread (loadtest/report/compare.h), errors to stderr. Returns the exit code: 0 if they were
// compared, whatever the result; else 1.
int RunCompare(const CompareOptions& options);

}  // namespace tickstack::cli
