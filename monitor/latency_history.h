#pragma once

// The slowest measured times of each second of the last minutes, for the monitor's page.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "monitor/monitor.h"

namespace tickstack::monitor {

// Threads: one owner. Memory: kSecondsMax times 16 bytes for each metric.
class LatencyHistory {
 public:
  static constexpr size_t kSecondsMax = 300;

  // `tables` are MonitorSettings::tables.
  explicit LatencyHistory(const std::vector<std::string>& tables);
  void Take(const Sample& sample);

  // Returns `{"names":["trade_lag",...,"asof","query"],"seconds":[[1764115200,0.52,null],...]}`:
  // Each row of `seconds` has the second in Unix time, and for each name the slowest time of that
  // second in ms, or null. The current second is left out, since it is not over. The argument
  // `seconds` is the maximum number of rows.
  std::string Json(size_t seconds) const;

 private:
  struct Second {
    int64_t unix_s;
    std::vector<std::optional<int64_t>> slowest_ns;  // By name.
  };
  std::vector<std::string> names_;
  std::deque<Second> seconds_;
};

}  // namespace tickstack::monitor
