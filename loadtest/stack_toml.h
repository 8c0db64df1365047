#pragma once

// The configuration of a stack that a load test runs, as text for `tickstack up`.

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
  // Only the timer ends a batch, however large it becomes; else also a tickerplant's usual bound.
  bool whole_batches = true;
  RowCounts prestress;
  std::string queries_file;  // Of the monitors' clients; "": none.
  std::string symbols_file;
  std::string tier_path;  // Of a file tier that is made for this stack.
  // Touched before rows come: of the tier of each rdb's rows, and of the aggengine's.
  uint64_t rdb_touch_bytes = 0, aggengine_touch_bytes = 0;
};

struct StackToml {
  std::string text;
  std::vector<std::string> rdbs;  // Their names; `monitor-NAME` watches each.
  bool has_bars = true;           // A stack of a file may have no aggregation engine.
  // A tier of it is of kind `simulate`: what is measured is a model's.
  bool simulated = false;
};

// The symbol whose trades are joined with their quotes: of every stack, every run and every seed
// the same, neither the busiest nor a quiet one.
std::string AsofSymbol(const Profile& profile);

// `SYMBOL,WEIGHT` of each symbol of the profile, for clients that ask for them as they are active.
std::string SymbolWeights(const Profile& profile);

// Of a placement that names a file, that file's stack with our feed, monitors and prestress, or its
// tiers and placement in a stack of ours. kNotFound, kInvalidArgument: as reading it says.
absl::StatusOr<StackToml> MakeStackToml(const Placement& placement, const StackSettings& settings);

// What the plan must know of a stack's file.
struct StackFile {
  int rdbs = 0;
  uint64_t smallest_tier_bytes = 0;  // Of those with a size; 0: none has.
};
absl::StatusOr<StackFile> ReadStackFile(const std::string& path);

}  // namespace tickstack::loadtest
