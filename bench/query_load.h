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

// Sends a monitor's questions at a fixed rate, whether they are answered or not, over several
// connections. A round is three requests, sent together when they are due: the newest time of trade
// and of quote, and the asof join of one symbol's trades with their prevailing quotes.
class MonitorLoad {
 public:
  MonitorLoad(uint16_t port, int rounds_per_second, size_t connections, const std::string& symbol);
  ~MonitorLoad();
  MonitorLoad(const MonitorLoad&) = delete;
  MonitorLoad& operator=(const MonitorLoad&) = delete;

  // Stops it and returns the durations of rounds, from when they were due until their last answer
  // arrived. Excludes rounds that were not answered by then.
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

// A client that aggregates a whole column, again as soon as it has the answer.
class ScanLoad {
 public:
  explicit ScanLoad(uint16_t port);
  ~ScanLoad() { Stop(); }
  ScanLoad(const ScanLoad&) = delete;
  ScanLoad& operator=(const ScanLoad&) = delete;

  const Histogram& Stop();  // Stops it and returns the durations of scans.

 private:
  std::atomic<bool> stop_{false};
  Histogram latency_;
  std::thread thread_;
};

}  // namespace tickstack::bench
