#include "rdb/tier_watch.h"

#include "base/logging.h"

namespace tickstack::rdb {

const std::set<std::string>& TierWatch::Poll() {
  constexpr double kFilled = 0.80, kNotFilled = 0.75;
  for (const mem::Tier* tier : tiers_) {
    const mem::TierStats stats = tier->Stats();
    if (stats.capacity_bytes == 0 || stats.capacity_bytes == SIZE_MAX) continue;
    const double share =
        static_cast<double>(stats.used_bytes) / static_cast<double>(stats.capacity_bytes);
    if (share < kNotFilled) {
      filled_.erase(stats.name);
    } else if (share >= kFilled && filled_.insert(stats.name).second) {
      LogWarn("tier is nearly full tier={} used_bytes={} capacity_bytes={} percent={:.0f}",
              stats.name, stats.used_bytes, stats.capacity_bytes, 100 * share);
    }
  }
  return filled_;
}

}  // namespace tickstack::rdb
