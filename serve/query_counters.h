#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/histogram.h"

namespace tickstack::serve {

// What a process answers about queries: `.rdb.stats[]`, `.hdb.stats[]`. Threads: any.
class QueryCounters {
 public:
  std::atomic<uint64_t> queries{0};          // That came, the async ones among them.
  std::atomic<uint64_t> failed{0};           // Answered with an error other than the next two.
  std::atomic<uint64_t> stopped{0};          // By the time limit.
  std::atomic<uint64_t> cancelled{0};        // Their client left, while they waited or ran.
  std::atomic<uint64_t> waiting{0};          // Now.
  std::atomic<uint64_t> running{0};          // Now.
  std::atomic<uint64_t> clients{0};          // Now.
  std::atomic<uint64_t> clients_cut_off{0};  // They did not read their answers.
  std::atomic<uint64_t> unread_bytes{0};     // Of answers that are made and not sent to the end.

  // From a query's arrival until its answer was there.
  void Record(int64_t ns) {
    const std::lock_guard lock(mutex_);
    ns_.Record(ns);
  }
  Histogram Times() const {
    const std::lock_guard lock(mutex_);
    return ns_;
  }

 private:
  mutable std::mutex mutex_;
  Histogram ns_{int64_t{1} << 42, 2};  // Guarded by mutex_.
};

// The same by the names that statistics have them under.
std::vector<std::pair<std::string_view, uint64_t>> NamedCounts(const QueryCounters& counters);

}  // namespace tickstack::serve
