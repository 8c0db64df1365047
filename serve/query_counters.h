#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/duration_buckets.h"
#include "base/histogram.h"

namespace tickstack::serve {

// Statistics about queries, as in `.rdb.stats[]` and `.hdb.stats[]`. Threads: any.
class QueryCounters {
 public:
  std::atomic<uint64_t> queries{0};          // Received queries, including async ones.
  std::atomic<uint64_t> failed{0};           // Answered with an error, except the next two.
  std::atomic<uint64_t> stopped{0};          // Ended by the time limit.
  std::atomic<uint64_t> cancelled{0};        // Their client left while they waited or ran.
  std::atomic<uint64_t> waiting{0};          // Waiting now.
  std::atomic<uint64_t> running{0};          // Running now.
  std::atomic<uint64_t> clients{0};          // Connected now.
  std::atomic<uint64_t> clients_cut_off{0};  // Disconnected because they did not read answers.
  std::atomic<uint64_t> unread_bytes{0};     // Bytes of answers that are not sent completely.

  // Records the time from a query's arrival until its answer was ready.
  void Record(int64_t ns) {
    const std::lock_guard lock(mutex_);
    ns_.Record(ns);
    durations_.Record(ns);
  }
  DurationBuckets::Counts Durations() const { return durations_.Read(); }
  Histogram Times() const {
    const std::lock_guard lock(mutex_);
    return ns_;
  }

 private:
  mutable std::mutex mutex_;
  Histogram ns_{int64_t{1} << 42, 2};  // Guarded by mutex_.
  DurationBuckets durations_;          // Written under mutex_.
};

// Returns the counters with their names in the statistics.
std::vector<std::pair<std::string_view, uint64_t>> NamedCounts(const QueryCounters& counters);

}  // namespace tickstack::serve
