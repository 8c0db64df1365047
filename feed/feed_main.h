#pragma once

#include <cstdint>
#include <string>

#include "feed/source.h"

namespace tickstack::feed {

struct FeedOptions {
  std::string name = "feed";  // The tickerplant counts this feed's rows under it.
  SourceOptions source;
  std::string tickerplant = "127.0.0.1:5010";
  std::string host = "127.0.0.1";  // Where `.feed.start[]` and `.feed.stats[]` are answered.
  int port = 0;                    // 0: the kernel chooses.
  int listen_fd = -1;              // An inherited listening socket, instead of host and port.
  int ready_fd = -1;               // Gets "ready\n" when the feed answers.
  bool start = false;              // At once; otherwise at `.feed.start[]`.
  bool exit_when_done = false;     // When every row of the source is logged.
  double batch_ms = 0;     // Sends what became due once per so many ms; 0: as soon as it is due.
  bool busy_poll = false;  // Spins instead of sleeping until a row is due: takes a whole core.
  int64_t queue_bytes = int64_t{8}
                        << 20;  // Stops generating above it, until the tickerplant reads.
};

// Runs until SIGTERM or SIGINT (exit code 0), or until done. 1: the source failed, or rows were
// refused. Blocks; uses the calling thread only.
int RunFeed(const FeedOptions& options);

}  // namespace tickstack::feed
