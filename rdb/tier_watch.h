#pragma once

// Warns before a tier is full: once when it is filled to 80 %, and again after it has fallen below
// 75 %. A full tier refuses rows.

#include <set>
#include <span>
#include <string>
#include <vector>

#include "mem/tier.h"

namespace tickstack::rdb {

// Threads: one owner.
class TierWatch {
 public:
  // The tiers outlive the watch.
  explicit TierWatch(std::vector<mem::Tier*> tiers) : tiers_(std::move(tiers)) {}

  // Looks at every tier and logs a warning for those that have become filled. Returns the names of
  // all that are. Cost: Tier::Stats of each.
  const std::set<std::string>& Poll();

 private:
  const std::vector<mem::Tier*> tiers_;
  std::set<std::string> filled_;
};

}  // namespace tickstack::rdb
