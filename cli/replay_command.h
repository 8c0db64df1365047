#pragma once

// `tickstack replay`: sends the UDP datagrams of a capture to multicast groups, as the exchange
// did. Threads: the main one.

#include <string>
#include <vector>

#include "cli/process_commands.h"

namespace tickstack::cli {

struct ReplayCommandOptions {
  std::string file;
  std::vector<std::string> to;     // Destinations such as 239.1.1.1:5000.
  std::vector<std::string> lines;  // Destinations of the capture; empty: all.
  std::string interface;           // Empty: the kernel chooses.
  double speed = 1;                // Relative to the recording; 0: as fast as possible.
  int ttl = 1;                     // Of multicast packets.
  bool loopback = true;            // True: receivers on this machine get them, too.
  bool json = false;               // True: print the counts as one JSON object.
};

void AddReplayCommand(CLI::App& app, ReplayCommandOptions& options, Action& action);

// Prints the counts to stdout and errors to stderr. Returns 0 if everything was sent, 1 otherwise.
int RunReplay(const ReplayCommandOptions& options);

}  // namespace tickstack::cli
