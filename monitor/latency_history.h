#pragma once

// The slowest measured times of each second of the last minutes, for the monitor's page.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "monitor/monitor.h"

namespace tickstack::monitor {

// Threads: one owner. Memory: kSecondsMax times 8 bytes for each metric.
class LatencyHistory {
 public:
  static constexpr size_t kSecondsMax = 300;

  // `tables` as in the settings of the monitor.
  explicit LatencyHistory(const std::vector<std::string>& tables);
  void Take(const Sample& sample);

  // Returns `{"names":["trade_lag",...,"asof","query"],"seconds":[[1764115200,0.52,null],...]}`:
  // Unix time, and the slowest of that second in ms for each name, null if there is none. The
  // current second is left out, since it is not over. `seconds` bounds the number of rows.
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
