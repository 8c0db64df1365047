#pragma once

// `tickstack hdb generate DIR`: a database of past days of the simulated market
// (feed/sim_market.h), for examples, tests and measurements. The same options give the same files.
// Days continue each other: prices begin where those of the day before closed.

#include <cstdint>
#include <string>

namespace tickstack {

struct HdbGenerateOptions {
  std::string directory;  // Made if there is none; days that it has already are an error.
  int64_t days = 5;       // Weekdays, from `from` on.
  std::string from = "2024.01.01";
  int64_t symbols = 1'000;
  int64_t quotes = 1'000'000;  // A day.
  int64_t trades = -1;         // A day; below 0: one for every ten quotes.
  uint64_t seed = 1;
  std::string compression = "none";
};

// Progress and errors go to stderr; returns the exit code. Memory: a day's rows, about 60 bytes
// each.
int RunHdbGenerate(const HdbGenerateOptions& options);

}  // namespace tickstack
