#pragma once

// `tickstack eod`: ends the day of a running stack, or writes a day that is over from its log.

#include <cstdint>
#include <optional>
#include <string>

#include "cli/stack_config.h"

namespace tickstack {

struct EodOptions {
  std::string config;  // A stack.toml; empty: the defaults.
  std::optional<std::string> data;
  std::string tickerplant;  // host:port; empty: the configuration's.
  std::string rdb;          // host:port of the one that writes; empty: the configuration's.
  double timeout_s = 600;
  std::optional<std::string> date;  // Write this day from its log instead: nothing else must run.
  std::string log;                  // Its log; empty: of that date in the data directory.
  std::string database;             // empty: the configuration's.
};

// Exit codes as the command's: 0 done, 1 failed, 2 wrong usage.
int RunEod(const EodOptions& options);

}  // namespace tickstack
