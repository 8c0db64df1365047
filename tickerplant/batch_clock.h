#pragma once

// The times at which a tickerplant publishes batches, by the clock.

#include <cstdint>
#include <optional>

namespace tickstack::tickerplant {

class BatchClock {
 public:
  // Publishes every `interval_ns`; 0 publishes immediately. With a phase, publishes this long after
  // the clock's multiples of the interval, which keeps several tickerplants of a machine apart.
  // Without one, the first time is an interval after `now_ns`.
  BatchClock(int64_t interval_ns, std::optional<int64_t> phase_ns, int64_t now_ns)
      : interval_ns_(interval_ns), first_ns_(phase_ns.value_or(now_ns)) {}

  int64_t interval_ns() const { return interval_ns_; }
  // Returns the first time after `now_ns`; `now_ns` itself if batches are published immediately.
  int64_t NextAfter(int64_t now_ns) const {
    if (interval_ns_ == 0) return now_ns;
    const int64_t since_ns = (now_ns - first_ns_) % interval_ns_;
    return now_ns - since_ns + (since_ns < 0 ? 0 : interval_ns_);
  }

 private:
  int64_t interval_ns_;
  int64_t first_ns_;
};

}  // namespace tickstack::tickerplant
