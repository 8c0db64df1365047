#pragma once

// Settings that change while a process runs, when its configuration is loaded again. They belong to
// the process as the log level does: there is one set of them. Threads: any.

#include <cstdint>
#include <memory>

#include "serve/health.h"

namespace tickstack::serve {

struct LiveSettings {
  HealthLimits health;
  int64_t query_timeout_ns = 0;  // As in QueryServiceOptions.
  int64_t query_slow_ns = 0;
  bool operator==(const LiveSettings&) const = default;
};

// Returns the settings of the last reload; nullptr before the first, when those from the start
// hold.
std::shared_ptr<const LiveSettings> CurrentLiveSettings();
// nullptr: the settings from the start apply again.
void SetLiveSettings(std::shared_ptr<const LiveSettings> settings);

}  // namespace tickstack::serve
