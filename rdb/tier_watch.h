#pragma once

// Warns before a tier is full: once when it is filled to 80 %, and again whenever it reaches 80 %
// after it had fallen below 75 %. A full tier refuses rows, unless it has an overflow. For a tier
// with an overflow, it warns once when rows begin to go there, and again when the overflow is
// nearly full.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "mem/tier.h"

namespace tickstack::rdb {

// Threads: one owner.
class TierWatch {
 public:
  // The tiers outlive the watch. Leave out those that pass rows on to another tier when they are
  // full (Placement::PassesOn).
  explicit TierWatch(std::vector<mem::Tier*> tiers) : tiers_(std::move(tiers)) {}

  // Looks at every tier, and logs a warning for each that has become filled to 80 %. Returns the
  // names of all filled ones; the overflow of a tier `pmem` is called `pmem.overflow`. Cost:
  // Tier::Stats of each.
  const std::set<std::string>& Poll();

 private:
  void Look(const std::string& name, size_t used_bytes, size_t capacity_bytes);
  void LookAtOverflow(const mem::TierStats& stats);

  const std::vector<mem::Tier*> tiers_;
  std::set<std::string> filled_;
  std::set<std::string> overflowing_;
};

}  // namespace tickstack::rdb
