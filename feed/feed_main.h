#pragma once

#include <cstddef>
#include <string>

#include "feed/source.h"
#include "wire/listener_options.h"

namespace tickstack::feed {

struct FeedOptions {
  std::string name = "feed";  // The tickerplant counts this feed's rows under it.
  SourceOptions source;
  std::string tickerplant = "127.0.0.1:5010";
  wire::ListenerOptions listener;  // Where `.feed.start[]` and `.feed.stats[]` are answered.
  // Takes the name over if another feed has it. Not in a configuration: feeds that are started
  // again would take it from each other.
  bool take_over = false;
  bool start = false;           // At once; otherwise at `.feed.start[]`.
  bool exit_when_done = false;  // When every row of the source is logged.
  // Interval in ms at which due rows are sent; 0 sends each as soon as it is due, which at 48,000
  // updates/s takes a third of a core instead of a twentieth.
  double batch_ms = 1;
  bool busy_poll = false;  // Spins instead of sleeping until a row is due: takes a whole core.
  size_t queue_bytes = size_t{8} << 20;  // Stops generating above it, until the tickerplant reads.
};

// Runs until SIGTERM or SIGINT (exit code 0), or until done. 1: the source failed, rows were
// refused, or another feed took the name over; that one ends the process in any case. Blocks; uses
// the calling thread only.
int RunFeed(const FeedOptions& options);

}  // namespace tickstack::feed
