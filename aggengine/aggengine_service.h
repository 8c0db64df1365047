#pragma once

// The engine's connections: one to the tickerplant that is subscribed (and not read during a
// replay), one that publishes, and those of clients that query; and the publication timer.
//
// Rows are published in sync upds, since their answers say that they are logged. While answers are
// out, changes gather in the bars: a slow tickerplant gets fewer and newer rows, not a longer
// queue. They gather too when batches follow each other faster than `gap_ns`: the bars of a busy
// symbol change with each batch, and one row for five of them says as much as five rows.
//
// From a tickerplant that publishes in batches, the engine gets rows as soon as they are logged. It
// publishes twice per batch interval, between two batches:
//
//   tickerplant    |rows            |rows            |rows     to the rdbs
//   engine         .....|bars..|bars....|bars..|bars....|      makes bars all the time
//
// So bars are fresher than rows are, and neither the work for them nor they themselves come when
// every subscriber is busy with a batch. Twice, since that costs little where most symbols have no
// second row in half an interval; the gap bounds it. Where batches are large, and leave before
// their time, bars follow them as they come.
//
// Threads: everything runs on the loop's thread.

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "aggengine/engine.h"
#include "base/time.h"
#include "serve/loop_queries.h"
#include "wire/client.h"
#include "wire/event_loop.h"
#include "wire/server.h"
#include "wire/subscriber.h"

namespace tickstack::aggengine {

struct ServiceOptions {
  wire::SubscriberOptions subscriber;  // `tables` are the engine's.
  int64_t publish_ns = 0;              // 0: twice in its interval; of one that has no batches,
                                       // with each read that brought rows,
  int64_t gap_ns = 0;                  // but not sooner than this after the last time; up to twice
                                       // that where publishing takes a tenth of the time.
};

// Answers `.agg.stats[]`, and what any process answers.
class AggEngineService {
 public:
  // Connects at once, and again whenever a connection is lost. The engine outlives the service.
  AggEngineService(wire::EventLoop& loop, const ServiceOptions& options, Engine* engine);
  ~AggEngineService();

  // Takes no more rows, and sends what changed so far.
  void StopTaking();
  bool has_unpublished() const;  // And a connection that could take it.

  // The handler of the process's server.
  wire::ServerHandler* queries() { return &queries_; }

 private:
  class Link;
  void Publish();
  void PublishWhenDue();
  int64_t WaitNs() const;
  void OnLive();
  void KeepPace();
  void CancelTimers();
  void RegisterAsCloser(wire::Connection* connection);  // nullptr: does nothing.

  Engine* const engine_;
  const std::string name_;  // Of both connections' user.
  const int64_t publish_ns_, gap_ns_;
  bool on_timer_ = false;                 // Else as rows come.
  int64_t wait_ns_;                       // gap_ns_ or more, by what the last time took.
  int64_t published_ns_ = INT64_MIN / 2;  // Monotonic: when the last time ended.
  bool is_due_ = false;                   // due_timer_ is set.
  bool is_behind_ = false;                // Changes are pending until an answer arrives.
  wire::Timer timer_;      // Publishes in the tickerplant's interval, or every publish_ns.
  wire::Timer due_timer_;  // Ends a publish gap.
  serve::LoopQueries queries_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<wire::Subscriber> subscriber_;
};

}  // namespace tickstack::aggengine
