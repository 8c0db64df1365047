#pragma once

// `[health]` of stack.toml: when /readyz says that a process is not ready.

#include "absl/status/status.h"
#include "base/config.h"
#include "serve/health.h"

namespace tickstack::cli {

// Reads the section, if the file with this root table has one.
absl::Status ReadHealth(const ConfigTable& root, serve::HealthLimits& limits);

}  // namespace tickstack::cli
