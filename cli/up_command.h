#pragma once

#include <optional>
#include <string>

namespace tickstack {

struct UpOptions {
  std::string config;
  std::optional<std::string> data;  // Instead of the configuration's.
  std::optional<std::string> date;  // The day of a replay, such as 2013.10.07.
  bool no_feed = false;
  bool feeds_wait = false;   // For `.feed.start[]` by somebody else, whatever the monitors say.
  std::optional<int> ports;  // 0: the kernel chooses; else this and the following numbers.
  std::string ready_file;    // As cli/supervisor.h writes it.
  int parent_fd = -1;        // The stack stops when this pipe closes.
  double seconds = 0;        // Duration after all answered; 0: until a signal.
};

// Runs a whole stack in the foreground, each process a child of this one, until SIGINT or SIGTERM:
// then the feed stops first, the tickerplant publishes what it has, and the subscribers finish. 0;
// 1 if a process failed; 2 if the configuration is wrong.
int RunUp(const UpOptions& options);

}  // namespace tickstack
