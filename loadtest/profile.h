#pragma once

// What a load test publishes: how many updates when, of how many symbols.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "feed/pace.h"

namespace tickstack::loadtest {

struct Profile {
  std::string name = "march2020";
  double rate = 48'000;                 // Updates per second,
  std::vector<feed::PacePhase> phases;  // or, one after the other, again and again, these rates.
  double seconds = 1'800;
  int64_t symbols = 8'000;
  int64_t quotes_per_trade = 10;
  uint64_t seed = 1;

  // The mean over the run.
  double UpdatesPerSecond() const;
  // The same load, but with this mean.
  void SetUpdatesPerSecond(double rate);
};

// A built-in one by its name, or the one of a TOML file:
//
//   march2020         the paper's: 48,000 updates/s, ten quotes to a trade, for 30 minutes
//   march2020-volume  what the busiest half hour of 2020 had: 95 million updates, five to one
//   bursts            as many updates as march2020, a quarter of them in a tenth of each second
//
// kNotFound: neither a name nor a file, with the names that there are. kInvalidArgument with file,
// line and key.
absl::StatusOr<Profile> LoadProfile(const std::string& name_or_file);
absl::StatusOr<Profile> ParseProfile(std::string_view text, std::string_view file_name);

}  // namespace tickstack::loadtest
