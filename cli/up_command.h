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
  // True: feeds wait for `.feed.start[]` from a client, and monitors do not start them.
  bool feeds_wait = false;
  // Replaces the configuration's ports. 0: the kernel chooses; else the first of consecutive
  // numbers.
  std::optional<int> ports;
  std::string ready_file;  // See cli/supervisor.h.
  int parent_fd = -1;      // The stack stops when this pipe closes.
  double seconds = 0;      // Seconds to run after all processes answer; 0: until a signal.
};

// Runs a whole stack in the foreground, each process as a child of this one, until SIGINT or
// SIGTERM. Then the feed stops first, the tickerplant publishes what it has, and the subscribers
// finish. Returns 0; 1 if a process failed; 2 if the configuration is wrong.
int RunUp(const UpOptions& options);

}  // namespace tickstack::cli
