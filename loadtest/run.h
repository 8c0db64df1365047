#pragma once

// One test: starts its stacks, waits until all of them are loaded, starts all feeds together,
// watches until everything that was offered was captured, and stops them in order.
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
  std::string work;  // Folders of stacks are made in it, and removed.
  std::string logs;  // Gets what the processes logged, a folder a test and stack; "": nobody does.
  const std::atomic<bool>* interrupted = nullptr;
  Progress* progress = nullptr;
  // Of a search for the highest rate: the feed's receipts are believed for what was logged, rows
  // are not compared, and a feed that is late by a quarter of the run ends it.
  bool is_probe = false;
};

// Never throws away what was measured: a failure is in the result, of the stack that it happened
// to and of the test. Leaves no process and, but for logs, no file. Blocks.
TestResult RunTest(const TestSpec& spec, const RunContext& context);

}  // namespace tickstack::loadtest
