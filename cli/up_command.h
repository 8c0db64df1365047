#pragma once

// `tickstack up`: runs a whole stack from its configuration.

#include <optional>
#include <string>

namespace tickstack::cli {

struct UpOptions {
  std::string config;
  std::optional<std::string> data;  // Default: from the configuration.
  std::optional<std::string> date;  // The day of a replay, such as 2013.10.07.
  bool no_feed = false;
  // Feeds wait for `.feed.start[]` from outside, whatever the monitors say.
  bool feeds_wait = false;
  std::optional<int> ports;  // 0: the kernel chooses; else the first of consecutive numbers.
  std::string ready_file;    // See cli/supervisor.h.
  int parent_fd = -1;        // The stack stops when this pipe closes.
  double seconds = 0;        // Duration after all answered; 0: until a signal.
};

// Runs a whole stack in the foreground, each process as a child of this one, until SIGINT or
// SIGTERM. Then the feed stops first, the tickerplant publishes what it has, and the subscribers
// finish. Returns 0; 1 if a process failed; 2 if the configuration is wrong.
int RunUp(const UpOptions& options);

}  // namespace tickstack::cli
