#include "serve/query_counters.h"

namespace tickstack::serve {

std::vector<std::pair<std::string_view, uint64_t>> NamedCounts(const QueryCounters& counters) {
  const auto load = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const Histogram times = counters.Times();
  const auto percentile = [&times](double at) {
    return static_cast<uint64_t>(times.ValueAtPercentile(at));
  };
  return {{"queries", load(counters.queries)},
          {"queries_failed", load(counters.failed)},
          {"queries_stopped", load(counters.stopped)},
          {"queries_cancelled", load(counters.cancelled)},
          {"queries_waiting", load(counters.waiting)},
          {"queries_running", load(counters.running)},
          {"query_ns_p50", percentile(50)},
          {"query_ns_p99", percentile(99)},
          {"query_ns_max", static_cast<uint64_t>(times.Max())},
          {"clients", load(counters.clients)},
          {"clients_cut_off", load(counters.clients_cut_off)},
          {"unread_bytes", load(counters.unread_bytes)}};
}

}  // namespace tickstack::serve
