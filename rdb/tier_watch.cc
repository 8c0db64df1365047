#include "rdb/tier_watch.h"

#include "base/logging.h"

namespace tickstack::rdb {

void TierWatch::Look(const std::string& name, size_t used_bytes, size_t capacity_bytes) {
  constexpr double kFilled = 0.80, kNotFilled = 0.75;
  if (capacity_bytes == 0 || capacity_bytes == SIZE_MAX) return;
  const double share = static_cast<double>(used_bytes) / static_cast<double>(capacity_bytes);
  if (share < kNotFilled) {
    filled_.erase(name);
  } else if (share >= kFilled && filled_.insert(name).second) {
    LogWarn("tier is nearly full tier={} used_bytes={} capacity_bytes={} percent={:.0f}", name,
            used_bytes, capacity_bytes, 100 * share);
  }
}

void TierWatch::LookAtOverflow(const mem::TierStats& stats) {
  if (stats.overflow_used_bytes == 0) {
    overflowing_.erase(stats.name);
  } else if (overflowing_.insert(stats.name).second) {
    LogWarn(
        "tier is full, new rows go to DRAM tier={} overflow_used_bytes={} "
        "overflow_capacity_bytes={}",
        stats.name, stats.overflow_used_bytes, stats.overflow_capacity_bytes);
  }
  Look(stats.name + ".overflow", stats.overflow_used_bytes, stats.overflow_capacity_bytes);
}

const std::set<std::string>& TierWatch::Poll() {
  for (const mem::Tier* tier : tiers_) {
    const mem::TierStats stats = tier->Stats();
    Look(stats.name, stats.used_bytes, stats.capacity_bytes);
    LookAtOverflow(stats);
  }
  return filled_;
}

}  // namespace tickstack::rdb
