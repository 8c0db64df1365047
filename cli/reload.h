#pragma once

// Configurations that are loaded again while a stack runs: what has changed, and what of that
// takes effect without a restart.

#include <functional>
#include <map>
#include <string>

#include "absl/status/statusor.h"

namespace tickstack::cli {

// The keys of a configuration file with their values as text: `rdb[0].query_slow_ms`.
using ConfigKeys = std::map<std::string, std::string>;
absl::StatusOr<ConfigKeys> ConfigKeysOf(const std::string& path);

// Logs each key whose value differs: a line of level info if the running stack uses the new value,
// a warning if it needs a restart.
void LogConfigChanges(const ConfigKeys& was, const ConfigKeys& is);

// Calls `reload` on a thread of its own at each SIGHUP from now on. Call it before other threads
// start, because they inherit that the signal is blocked. Does nothing if stderr is a terminal,
// whose end still ends the process.
void ReloadOnSighup(std::function<void()> reload);

}  // namespace tickstack::cli
