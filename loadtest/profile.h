#pragma once

// What a load test publishes: the rate of updates over time, and the number of symbols.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "feed/sources/pace.h"

namespace tickstack::loadtest {

struct Profile {
  std::string name = "march2020";
  double rate = 48'000;  // Updates per second, unless there are phases.
  // Rates that follow one another and repeat, instead of `rate`.
  std::vector<feed::PacePhase> phases;
  double seconds = 1'800;
  int64_t symbols = 8'000;
  int64_t quotes_per_trade = 10;
  uint64_t seed = 1;

  // Returns the mean rate over the run.
  double UpdatesPerSecond() const;
  // Scales the load to this mean rate.
  void SetUpdatesPerSecond(double rate);
};

// Loads a built-in profile by its name, or a TOML file:
//
//   march2020         the paper's: 48,000 updates/s for 30 minutes, ten quotes to a trade
//   march2020-volume  the busiest half hour of 2020: 95 million updates, five quotes to a trade
//   bursts            as many updates as march2020, a quarter of them in a tenth of each second
//
// kNotFound if it is neither a built-in name nor a file; the message lists the names.
// kInvalidArgument with file, line and key.
absl::StatusOr<Profile> LoadProfile(const std::string& name_or_file);
absl::StatusOr<Profile> ParseProfile(std::string_view text, std::string_view file_name);

}  // namespace tickstack::loadtest
