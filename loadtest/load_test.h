#pragma once

// Runs a whole load test: from its options to the files in its results directory.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tickstack::loadtest {

struct LoadTestOptions {
  std::string profile = "march2020";  // A built-in name or a file; see profile.h.
  // The next four fields replace values of the profile if they are set.
  std::optional<double> rate, seconds;
  std::optional<int64_t> symbols;
  std::optional<uint64_t> seed;
  std::optional<int64_t> prestress_quotes, prestress_trades;  // Default: as many as fit.
  double batch_ms = 50;
  // Interval between samples in ms. Default: 300; 20 with find_max, because its runs are short and
  // would have too few samples.
  std::optional<double> query_ms;
  std::string queries =
      "monitor";  // The set of queries that clients ask; see measure/clients/query_set.h.
  std::vector<std::string> stacks;  // See placement.h. Default: DRAM beside the second tier.
  std::string matrix;               // Runs these tests (paper_tests.h) instead of `stacks`.
  // The second tier of a matrix, and of a run without `stacks`: a directory or a placement. Empty:
  // /dev/shm.
  std::string second_tier;
  bool find_max = false;  // Finds the highest rate of each stack alone (find_max.h).
  double below_ms = 100;  // The p99 latency bound of find_max.
  std::string out;      // Directory of the results; empty: loadtest-TIME in the current directory.
  std::string work;     // Directory of the tickerplants' logs during the run; empty: `out`.
  std::string command;  // The command line, recorded in the results.
  bool how_to_go_on = false;  // True: prints further commands at the end, as the demo does.
};

// Returns the exit status: 0; 1 if a stack failed, rows are missing, or SIGINT or SIGTERM ended the
// run (after an orderly shutdown); 2 if the options are wrong. Whatever was measured is written in
// any case. Blocks.
int RunLoadTest(const LoadTestOptions& options);

}  // namespace tickstack::loadtest
