#pragma once

// The feed's connections, to the tickerplant and from clients, and its timer. Threads: everything
// runs on the loop's thread.

#include <cstdint>
#include <memory>

#include "base/time.h"
#include "feed/feed.h"
#include "serve/loop_queries.h"
#include "wire/client.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::feed {

// Answers `.feed.start[]`, `.feed.stats[]`, and the queries that every process answers.
class FeedService {
 public:
  // Connects to the tickerplant immediately, and again whenever that connection is lost.
  FeedService(wire::EventLoop& loop, wire::Address tickerplant, std::unique_ptr<Feed> feed);
  ~FeedService();

  void Start();  // Publishes once the tickerplant is connected.
  // Stops publishing, and gives the tickerplant `at_most` to read what is queued.
  void StopPublishing(std::chrono::nanoseconds at_most);
  bool connected() const;
  const Feed& feed() const { return *feed_; }
  Value Stats() const { return feed_->Stats(clock_.NowNs()); }
  // The handler of the process's server.
  wire::ServerHandler* queries() { return &queries_; }

 private:
  class TickerplantLink;
  void Pump();

  const Clock& clock_;
  wire::EventLoop& loop_;
  std::unique_ptr<Feed> feed_;
  wire::Timer timer_;
  bool stopped_ = false;
  serve::LoopQueries queries_;
  std::unique_ptr<TickerplantLink> link_;
};

}  // namespace tickstack::feed
