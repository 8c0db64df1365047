#pragma once

// `tickstack hdb generate DIR`: creates a database of past days of the simulated market
// (feed/sim_market.h), for examples, tests and measurements. Equal options give equal files. Each
// day's prices continue from the previous day's close.

#include <cstdint>
#include <string>

namespace tickstack::cli {

struct HdbGenerateOptions {
  std::string directory;  // Created if missing; it is an error if it already has one of the days.
  int64_t days = 5;       // Number of weekdays, starting at `from`.
  std::string from = "2024.01.01";
  int64_t symbols = 1'000;
  int64_t quotes = 1'000'000;  // Per day.
  int64_t trades = -1;         // Per day; below 0: one for every ten quotes.
  uint64_t seed = 1;
  std::string compression = "none";
};

// Prints progress and errors to stderr and returns the exit code. Memory: one day's rows, about 60
// bytes each.
int RunHdbGenerate(const HdbGenerateOptions& options);

}  // namespace tickstack::cli
