#pragma once

// `tickstack report DIR`, `tickstack compare A B`: what a load test found, for people. Report makes
// the page of a load test's run again from its files.

#include <string>

namespace tickstack {

// Prints the page's path to stdout, errors to stderr. Returns the exit code: 0 made, 1 not.
// Threads: the main one.
int RunReport(const std::string& run_directory);

struct CompareOptions {
  std::string first, second;
  bool json = false;  // One object.
};

// `tickstack compare A B [--json]`: which figures of two runs differ by more than their spread
// covers (loadtest/compare.h). To stdout, errors to stderr. Returns the exit code: 0 compared,
// whatever came out, 1 not.
int RunCompare(const CompareOptions& options);

}  // namespace tickstack
