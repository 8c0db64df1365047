#pragma once

// Clients that query an rdb while it takes rows.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/histogram.h"
#include "bench/loopback.h"

namespace tickstack::bench {

// Sends a monitor's queries at a fixed rate over several connections, without waiting for answers.
// A round is three requests, sent together when they are due: the newest time of trade, the newest
// time of quote, and the as-of join of one symbol's trades with their prevailing quotes.
class MonitorLoad {
 public:
  MonitorLoad(uint16_t port, int rounds_per_second, size_t connections, const std::string& symbol);
  ~MonitorLoad();
  MonitorLoad(const MonitorLoad&) = delete;
  MonitorLoad& operator=(const MonitorLoad&) = delete;

  // Stops sending and returns the durations of rounds, from when a round was due until its last
  // answer arrived. Rounds without all of their answers are left out.
  const Histogram& Stop();
  uint64_t rounds_due() const { return rounds_due_; }

 private:
  void Send();
  void Receive();

  const int64_t period_ns_;
  std::vector<std::unique_ptr<Peer>> peers_;
  ByteBuffer round_;  // Three requests.
  int64_t start_ns_ = 0;
  uint64_t rounds_due_ = 0;
  std::atomic<bool> stop_{false};
  Histogram latency_;
  std::thread sender_, receiver_;
};

// A client that aggregates a whole column, and repeats the query as soon as it has the answer.
class ScanLoad {
 public:
  explicit ScanLoad(uint16_t port);
  ~ScanLoad() { Stop(); }
  ScanLoad(const ScanLoad&) = delete;
  ScanLoad& operator=(const ScanLoad&) = delete;

  const Histogram& Stop();  // Stops the client and returns the durations of its queries.

 private:
  std::atomic<bool> stop_{false};
  Histogram latency_;
  std::thread thread_;
};

}  // namespace tickstack::bench
