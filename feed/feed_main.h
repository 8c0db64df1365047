#pragma once

// The process of a feed: its options, and the function that the command line calls.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "feed/sources/source_registry.h"
#include "serve/health.h"
#include "table/schema.h"
#include "table/shard_map.h"
#include "wire/listener_options.h"

namespace tickstack::feed {

// The shards of the stack that a feed publishes to.
struct FeedShards {
  std::shared_ptr<const ShardMap> map;    // nullptr: one tickerplant has all symbols.
  std::vector<std::string> tickerplants;  // Addresses, in the order of map->shards().
  std::vector<Schema> schemas;            // The schemas of the source's tables.
  // Names of those that this feed publishes to; other feeds publish to the others. Empty: all.
  std::vector<std::string> only;
};

struct FeedOptions {
  std::string name = "feed";  // The tickerplant counts this feed's rows under it.
  SourceSettings source;
  std::string tickerplant = "127.0.0.1:5010";
  FeedShards shards;               // With a map, instead of `tickerplant`.
  wire::ListenerOptions listener;  // For `.feed.start[]` and `.feed.stats[]`.
  serve::HealthLimits health;
  // True: takes the name over if another feed has it. Not available in a configuration, because
  // restarted feeds would take the name from each other.
  bool take_over = false;
  bool again = false;           // FeedSettings::again.
  bool start = false;           // True: starts immediately; false: at `.feed.start[]`.
  bool exit_when_done = false;  // True: ends when every row of the source is logged.
  // Interval in ms at which due rows are sent; 0 sends each as soon as it is due, which at 48,000
  // updates/s takes a third of a core instead of a twentieth.
  double batch_ms = 1;
  bool busy_poll = false;                // True: spins until a row is due, which occupies a core.
  size_t queue_bytes = size_t{8} << 20;  // With more unsent bytes, it stops generating.
  // A source without a pace waits while a subscriber is more than this many rows behind; 0: never.
  int64_t window_rows = 1'000'000;
};

// Runs until SIGTERM or SIGINT, or until done, and returns 0; 1 if the source failed, rows were
// refused, or another feed took the name over, which always ends the process. Blocks; uses only the
// calling thread.
int RunFeed(const FeedOptions& options);

}  // namespace tickstack::feed
