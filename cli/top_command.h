#pragma once

// `tickstack top`: rates, lags, latency and memory of a stack's processes, each second.

#include "cli/query_command.h"

namespace tickstack::cli {

struct TopOptions {
  // Path of a stack.toml, whose processes are watched; or addresses, separated by commas, as
  // `tickstack query` takes them.
  std::string target = "stack.toml";
  bool once = false;
  bool json = false;
  // As for `tickstack query`. Without them, and with a stack.toml that has a users file, the
  // stack's own credentials are used.
  QueryOptions login;
};

// On a terminal, shows a screen that changes each second until q, Ctrl-C or SIGTERM: returns 0.
// Without a terminal, with `once` or `json`: measures rates for a second, prints text or one JSON
// object, and returns 0; 1 if a process does not answer. Other errors: 1 with the reason on stderr,
// and 2 for a wrong configuration or address.
int RunTop(const TopOptions& options);

}  // namespace tickstack::cli
