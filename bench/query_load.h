#pragma once

// Who asks an rdb while it takes rows.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/histogram.h"
#include "bench/loopback.h"

namespace tickstack::bench {

// Asks what a monitor asks, so often a second, whether it is answered or not, over several
// connections. A round is three requests, which leave together when they are due: the newest time
// of trade and of quote, and the asof join of one symbol's trades with their prevailing quotes.
class MonitorLoad {
 public:
  MonitorLoad(uint16_t port, int rounds_per_second, size_t connections, const std::string& symbol);
  ~MonitorLoad();
  MonitorLoad(const MonitorLoad&) = delete;
  MonitorLoad& operator=(const MonitorLoad&) = delete;

  // Ends it. How long rounds took, from when they were due until their last answer was there; those
  // that were not answered by then are not in it.
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

// One client that asks for an aggregate of a whole column again as soon as it has the answer.
class ScanLoad {
 public:
  explicit ScanLoad(uint16_t port);
  ~ScanLoad() { Stop(); }
  ScanLoad(const ScanLoad&) = delete;
  ScanLoad& operator=(const ScanLoad&) = delete;

  const Histogram& Stop();  // Ends it; how long scans took.

 private:
  std::atomic<bool> stop_{false};
  Histogram latency_;
  std::thread thread_;
};

}  // namespace tickstack::bench
