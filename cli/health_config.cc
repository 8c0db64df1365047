#include "cli/health_config.h"

#include "base/status.h"

namespace tickstack::cli {

absl::Status ReadHealth(const ConfigTable& root, serve::HealthLimits& limits) {
  TS_ASSIGN_OR_RETURN(const ConfigTable health, root.Table("health"));
  TS_RETURN_IF_ERROR(health.ReadBytes("disk_free", &limits.disk_free_bytes));
  TS_RETURN_IF_ERROR(health.Read("tier_used_percent", &limits.tier_used_percent, 1, 100));
  TS_RETURN_IF_ERROR(health.ReadDuration("behind", &limits.behind_ns));
  TS_RETURN_IF_ERROR(health.ReadDuration("feed_silent", &limits.feed_silent_ns));
  if (limits.behind_ns <= 0) return health.ErrorAt("behind", "expected more than 0s");
  if (limits.feed_silent_ns < 0) return health.ErrorAt("feed_silent", "expected 0s or more");
  return absl::OkStatus();
}

}  // namespace tickstack::cli
