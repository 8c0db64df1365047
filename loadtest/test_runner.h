#pragma once

// Runs one test: starts its stacks, waits until all are loaded, starts all feeds together, watches
// until every offered row is captured, and stops the stacks in order.
//
//   start  -> load -> live -> begin -> watch -> look -> stop -> compare
//   `up`      prestress       monitors  feeds    rows,   counts of feed, log and rdb; checksums
//             of each rdb     begin     done     tiers   of all rdbs
//                             anew, feeds
//                             start

#include <atomic>
#include <string>

#include "loadtest/progress.h"
#include "loadtest/result.h"

namespace tickstack::loadtest {

struct RunContext {
  std::string work;  // Parent of the stacks' folders, which are removed at the end.
  // Receives the processes' logs, in a folder for each test and stack; "": they are dropped.
  std::string logs;
  const std::atomic<bool>* interrupted = nullptr;
  Progress* progress = nullptr;
  // True in a search for the highest rate: the feed's acknowledgements count as logged rows, rows
  // are not compared, and the test ends when a feed is late by a quarter of the run.
  bool is_probe = false;
};

// Runs the test. It keeps whatever was measured: a failure is recorded in the result, in the failed
// stack and in the test. It leaves no process behind, and no file except logs. Blocks.
TestResult RunTest(const TestSpec& spec, const RunContext& context);

}  // namespace tickstack::loadtest
