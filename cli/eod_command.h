#pragma once

// `tickstack eod`: ends the day of a running stack, or writes a past day from its log.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/stack_config.h"

namespace tickstack::cli {

struct EodOptions {
  std::string config;  // A stack.toml; empty: the defaults.
  std::optional<std::string> data;
  std::string tickerplant;  // host:port; empty: from the configuration.
  std::string rdb;          // host:port of the rdb that writes; empty: from the configuration.
  double timeout_s = 600;
  std::optional<std::string> date;  // A past day to write from its log; no other process may run.
  std::string log;       // The log of that day; empty: found by its date in the data directory.
  std::string database;  // Empty: from the configuration.
};

// Returns the exit code: 0 done, 1 failed, 2 wrong usage.
int RunEod(const EodOptions& options);

}  // namespace tickstack::cli
