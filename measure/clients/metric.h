#pragma once

// One measured duration of the run, in ns: its distribution over the whole run and over the last
// minute. The tables of the paper in docs/loadtest.md show the last minute.

#include <cstdint>
#include <deque>
#include <string>

#include "base/duration_buckets.h"
#include "base/histogram.h"

namespace tickstack::measure {

struct Distribution {
  uint64_t count = 0;
  int64_t min = 0, p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;  // ns
  double mean = 0;                                                // ns
};
Distribution DistributionOf(const Histogram& histogram);

// Threads: one owner. Memory: 264 KiB and 16 bytes per value of the last minute.
class Metric {
 public:
  static constexpr int64_t kRecentNs = 60'000'000'000;

  explicit Metric(std::string name) : name_(std::move(name)) {}

  // `now_ns` must not decrease.
  void Record(int64_t now_ns, int64_t value_ns);

  const std::string& name() const { return name_; }
  const Histogram& Whole() const { return whole_; }
  Histogram LastMinute(int64_t now_ns) const;  // Values recorded in the last minute.
  // Returns the counts of all values, also of those before a Reset.
  const DurationBuckets::Counts& Buckets() const { return buckets_; }
  void Reset();

 private:
  struct Recent {
    int64_t at_ns;
    int64_t value_ns;
  };
  std::string name_;
  Histogram whole_;
  std::deque<Recent> recent_;
  DurationBuckets::Counts buckets_;
};

}  // namespace tickstack::measure
