#pragma once

// One life of a stack: some days of ticks with trouble (deaths, power cuts, lost connections); a
// time without trouble, in which everything must converge; and then the checks of oracle.h.

#include <cstdint>
#include <string>

namespace tickstack::simulate {

struct LifeReport {
  std::string failure;  // Empty if all promises were kept.
  uint64_t trace = 0;   // World::trace().
  int64_t rows = 0;     // Logged rows of feeds.
  int64_t deaths = 0;
  int64_t power_cuts = 0;
  int64_t leaders = 0;  // Members of a cluster that were elected.
  int64_t answers = 0;  // A gateway's, without errors.
  int64_t errors = 0;
};

// Runs the life of this seed, in the empty directory `root`. With `strict_syncs`, acknowledged rows
// must survive a power cut even if a sync had failed before, which docs/guarantees.md does not
// promise.
LifeReport Live(uint64_t seed, int days, const std::string& root, bool strict_syncs);

}  // namespace tickstack::simulate
