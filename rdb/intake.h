#pragma once

// Fills an rdb's tables from its tickerplant. If the tables are durable, commits pending rows when
// no message has arrived for a while. Threads: the ingest thread.

#include <memory>
#include <optional>

#include "rdb/rdb.h"
#include "tplog/subscriber.h"
#include "wire/event_loop.h"

namespace tickstack::rdb {

class Intake {
 public:
  // The loop and the rdb must outlive this.
  Intake(wire::EventLoop& loop, tplog::SubscriberOptions options, Rdb* rdb);

  void Start();
  // Unsubscribes. The tables stay as they are; Start continues where they end.
  void Stop();

 private:
  wire::EventLoop& loop_;
  const tplog::SubscriberOptions options_;
  Rdb* const rdb_;
  std::unique_ptr<tplog::Subscriber> subscriber_;
  std::optional<wire::Timer> idle_;
};

}  // namespace tickstack::rdb
