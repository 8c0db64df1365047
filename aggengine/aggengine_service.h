#pragma once

// The engine's connections: one that subscribes to the tickerplant (and is not read during a
// replay), one that publishes, and those of clients that query. Also the publication timer.
//
// Rows are published in sync upds, since the answers confirm that they are logged. While answers
// are pending, changes accumulate in the bars: a slow tickerplant gets fewer and newer rows, not a
// longer queue. They also accumulate if batches follow each other faster than `gap_ns`: the bars of
// a busy symbol change with each batch, and one row for five batches says as much as five rows.
//
// From a tickerplant that publishes in batches, the engine gets rows as soon as they are logged. It
// publishes twice per batch interval, between two batches:
//
//   tickerplant    |rows            |rows            |rows     to the rdbs
//   engine         .....|bars..|bars....|bars..|bars....|      makes bars all the time
//
// So bars are fresher than rows, and neither their computation nor their publication coincides with
// a batch, when every subscriber is busy. Two publications per interval cost little if most symbols
// have no second row in half an interval; `gap_ns` limits how often they happen. If batches are
// large and published before their time, bars are published as rows arrive.
//
// Threads: everything runs on the loop's thread.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "aggengine/engine.h"
#include "base/time.h"
#include "serve/loop_queries.h"
#include "tplog/subscriber.h"
#include "wire/client.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::aggengine {

struct ServiceOptions {
  tplog::SubscriberOptions subscriber;  // Its `tables` are set by the engine.
  int64_t publish_ns = 0;  // 0: twice per batch interval, or with each read if there are none.
  // Least time between publications. If these take more than a tenth of the time, the gap grows, to
  // at most twice `gap_ns`.
  int64_t gap_ns = 0;
};

// Answers `.agg.stats[]`, and the queries that every process answers.
class AggEngineService {
 public:
  // Connects immediately, and again whenever a connection is lost. The engine must outlive the
  // service.
  AggEngineService(wire::EventLoop& loop, const ServiceOptions& options, Engine* engine);
  ~AggEngineService();

  // Takes no more rows, and publishes the changes so far.
  void StopAcceptingRows();
  // True if bars are not published, or not answered, and there is a live connection that could take
  // them.
  bool has_unpublished() const;

  // The handler of the process's server.
  wire::ServerHandler* queries() { return &queries_; }

 private:
  class Link;
  void Subscribe();
  void Publish();
  void PublishWhenDue();
  int64_t WaitNs() const;
  void OnLive();
  void KeepPace();
  void CancelTimers();
  void RegisterAsCloser(wire::Connection* connection);  // nullptr: does nothing.

  const Clock& clock_;
  Engine* const engine_;
  wire::EventLoop& loop_;
  tplog::SubscriberOptions subscribe_;
  const std::string name_;  // User name of both connections.
  const int64_t publish_ns_, gap_ns_;
  bool on_timer_ = false;                 // True: publishes by the timer; false: as rows arrive.
  int64_t wait_ns_;                       // gap_ns_, or more if the last publication took long.
  int64_t published_ns_ = INT64_MIN / 2;  // Monotonic: when the last publication ended.
  bool is_due_ = false;                   // True if due_timer_ is set.
  bool is_behind_ = false;                // Changes are pending until an answer arrives.
  wire::Timer timer_;      // Publishes in the tickerplant's interval, or every publish_ns.
  wire::Timer due_timer_;  // Ends a publish gap.
  serve::LoopQueries queries_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<tplog::Subscriber> subscriber_;  // nullptr until link_ is registered.
};

}  // namespace tickstack::aggengine
