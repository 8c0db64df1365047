#pragma once

// Writes the configuration of a load test's stack, as text for `tickstack up`.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/placement.h"
#include "loadtest/plan.h"
#include "loadtest/profile.h"

namespace tickstack::loadtest {

struct StackSettings {
  std::string name;
  Profile profile;
  double batch_ms = 50;
  double batch_phase_ms = 0;
  double query_ms = 300;
  // True if only the timer ends a batch, whatever its size. If false, the tickerplant's default
  // bound on bytes applies as well.
  bool whole_batches = true;
  RowCounts prestress;
  std::string queries_file;  // Queries of the monitors' clients; "": no clients.
  std::string symbols_file;
  std::string tier_path;  // Path of the file tier that is created for this stack.
  // Memory to touch before rows arrive: in the tier of each rdb's rows, and in the aggengine's
  // tier.
  uint64_t rdb_touch_bytes = 0, aggengine_touch_bytes = 0;
};

struct StackToml {
  std::string text;
  std::vector<std::string> rdbs;  // Names of the rdbs; `monitor-NAME` watches each.
  bool has_bars = true;           // False if the stack's file has no aggregation engine.
  // True if a tier is of kind `simulate`: then the figures are those of a model.
  bool simulated = false;
};

// Returns the symbol for the as-of join of trades and quotes. It is the same for every stack, run
// and seed, and it is neither the busiest symbol nor a quiet one.
std::string AsofSymbol(const Profile& profile);

// Returns a line `SYMBOL,WEIGHT` for each symbol of the profile: clients ask for a symbol in
// proportion to its activity.
std::string SymbolWeights(const Profile& profile);

// Returns the configuration of a stack. If the placement names a file, kFile uses the whole stack
// of the file and adds our feed, monitors and prestress; kHybrid uses our stack with the tiers and
// the placement of the file. Errors of reading the file: kNotFound, kInvalidArgument.
absl::StatusOr<StackToml> MakeStackToml(const Placement& placement, const StackSettings& settings);

// What the plan needs to know about a stack's file.
struct StackFile {
  int rdbs = 0;
  uint64_t smallest_tier_bytes = 0;  // Smallest size of a tier that limits the rows; 0: none does.
};
absl::StatusOr<StackFile> ReadStackFile(const std::string& path);

}  // namespace tickstack::loadtest
