#pragma once

// A whole load test, from options to the files in its directory.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tickstack::loadtest {

struct LoadTestOptions {
  std::string profile = "march2020";  // A name or a file: profile.h.
  // Instead of the profile's.
  std::optional<double> rate, seconds;
  std::optional<int64_t> symbols;
  std::optional<uint64_t> seed;
  std::optional<int64_t> prestress_quotes, prestress_trades;  // Instead of what fits.
  double batch_ms = 50;
  std::optional<double> query_ms;   // None: 300; with find_max 20, for enough values of short runs.
  std::string queries = "monitor";  // What clients ask: monitor/query_set.h.
  std::vector<std::string> stacks;  // placement.h. None: DRAM beside the second tier.
  std::string matrix;               // matrix.h, instead of stacks.
  // Where the matrix has its second tier, and a run without stacks too: a directory or a placement;
  // empty: /dev/shm.
  std::string second_tier;
  bool find_max = false;      // Finds the highest rate of each stack alone (find_max.h).
  double below_ms = 100;      // The p99 latency bound of find_max.
  std::string out;            // The directory for the results; empty: loadtest-TIME here.
  std::string work;           // For logs of tickerplants meanwhile; empty: in `out`.
  std::string command;        // How it was called, for the record.
  bool how_to_go_on = false;  // Says at the end what else there is, as the demo does.
};

// 0; 1 if a stack failed, rows are missing, or at SIGINT or SIGTERM, after stopping in order; 2 if
// the options are wrong. What was measured until then is written either way. Blocks.
int RunLoadTest(const LoadTestOptions& options);

}  // namespace tickstack::loadtest
