#pragma once

// `tickstack eod`: ends the day of a running stack, or writes a past day from its log.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/stack_config.h"

namespace tickstack::cli {

struct EodOptions {
  std::string config;               // Path of the stack.toml; empty: the default configuration.
  std::optional<std::string> data;  // Data directory; nullopt: from the configuration.
  std::string credentials;          // Path of a file to log in with; empty: the configuration's.
  std::string tickerplant;          // host:port; empty: from the configuration.
  std::string rdb;  // host:port of the rdb that writes; empty: from the configuration.
  double timeout_s = 600;
  // A past day to write from its log; the stack must not run. nullopt: end the current day.
  std::optional<std::string> date;
  // With `date`: path of the log; empty: the log of that date in the data directory.
  std::string log;
  std::string database;  // With `date`: directory to write to; empty: from the configuration.
};

// Returns the exit code: 0 done, 1 failed, 2 wrong usage.
int RunEod(const EodOptions& options);

}  // namespace tickstack::cli
