#pragma once

// The feed's connections, to its tickerplants and from clients, and its timers. In a sharded stack
// there is one state machine (feed.h) for each shard's tickerplant, so that a lost shard does not
// disturb the others. Threads: everything runs on the loop's thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock_steps.h"
#include "base/time.h"
#include "feed/feed.h"
#include "serve/loop_queries.h"
#include "wire/client.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::feed {

// A feed and the tickerplant that it publishes to.
struct FeedTarget {
  std::string shard;  // Empty without shards.
  wire::Address tickerplant;
  std::unique_ptr<Feed> feed;
};

// Answers `.feed.start[]`, `.feed.stats[]`, and the queries that every process answers.
class FeedService {
 public:
  // Connects to the tickerplants immediately, and again whenever a connection is lost.
  FeedService(wire::EventLoop& loop, std::vector<FeedTarget> targets);
  // Without shards.
  FeedService(wire::EventLoop& loop, wire::Address tickerplant, std::unique_ptr<Feed> feed);
  ~FeedService();

  void Start();  // Publishes once the tickerplants are connected.
  // Stops publishing, and gives the tickerplants `at_most` to read what is queued.
  void StopPublishing(std::chrono::nanoseconds at_most);
  bool connected() const;  // True if any tickerplant is connected.
  size_t feeds() const { return senders_.size(); }
  // True if a shard has refused the source before all had granted it, so that others send nothing.
  bool refused() const;
  const Feed& feed(size_t i = 0) const;
  // Returns the answer to `.feed.stats[]`: that of Feed::Stats. With several feeds, rows and counts
  // are sums, times are the longest, and `state` is the one furthest from `done`; `shards` has the
  // state of each shard.
  Value Stats() const;
  // The handler of the process's server.
  wire::ServerHandler* queries() { return &queries_; }

 private:
  class Sender;
  void AdmitIfAllGranted();
  int64_t NowNs();

  const Clock& clock_;
  ClockSteps steps_;
  wire::EventLoop& loop_;
  bool stopped_ = false;
  bool admitted_ = false;  // All shards have granted their claims.
  serve::LoopQueries queries_;
  std::vector<std::unique_ptr<Sender>> senders_;
};

}  // namespace tickstack::feed
