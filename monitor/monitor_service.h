#pragma once

// The monitor's timer and its connections: to the rdb, to the feed, and from clients. Threads:
// everything runs on the loop's thread.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock_steps.h"
#include "base/time.h"
#include "measure/clients/query_clients.h"
#include "monitor/monitor.h"
#include "serve/loop_queries.h"
#include "wire/client.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::monitor {

// Answers `.monitor.stats[]`, a dictionary of longs: samples missed errors reconnects; answers
// client_errors clients_idle for clients; and connected sample_age_ms, which is null before the
// first sample. Also `.monitor.begin[]`, which restarts the measurements (Monitor::Restart) and
// makes clients start to ask; and `.monitor.end[]`, which makes them stop.
class MonitorService {
 public:
  // Connects to the rdb. When the rdb answers, connects to the feed, if any, and tells it to start.
  // Repeats this on every new connection: a restarted feed continues, and a running one ignores it.
  // `clients`, if any, must outlive this object.
  MonitorService(wire::EventLoop& loop, wire::Address rdb, std::optional<wire::Address> feed,
                 MonitorSettings settings, Monitor::OnSample on_sample,
                 measure::QueryClients* clients = nullptr);
  ~MonitorService();

  const Monitor& monitor() const { return monitor_; }
  Value Stats() const;  // The answer to `.monitor.stats[]`.
  void Stop();          // Asks no more questions.

  // The handler of the process's server.
  wire::ServerHandler* queries() { return &queries_; }

 private:
  class RdbLink;
  class FeedStarter;
  int64_t NowNs();
  void Pump();
  Value BeginMeasuring();
  Value EndMeasuring();

  const Clock& clock_;
  ClockSteps steps_;
  wire::EventLoop& loop_;
  Monitor monitor_;
  measure::QueryClients* const clients_;
  wire::Timer timer_;
  bool stopped_ = false;
  serve::LoopQueries queries_;
  std::optional<wire::Address> feed_address_;
  std::unique_ptr<FeedStarter> feed_;
  std::unique_ptr<RdbLink> rdb_;
};

}  // namespace tickstack::monitor
