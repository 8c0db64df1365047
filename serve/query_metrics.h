#pragma once

// Metrics of processes that answer queries with a QueryService. Their statistics function has the
// counters of NamedCounts.

#include <array>
#include <string_view>

#include "serve/metrics.h"

namespace tickstack::serve {

// The source (StatusFacts::Durations) of the durations that QueryCounters records.
inline constexpr std::string_view kQueryDurations = "queries";

// `stats` is the name of the statistics function, such as `.rdb.stats`.
constexpr std::array<Metric, 10> QueryMetrics(std::string_view stats) {
  using enum MetricType;
  return {{
      {"queries_total", kCounter, "queries", "Received queries.", stats, "queries"},
      {"queries_failed_total", kCounter, "queries", "Queries that were answered with an error.",
       stats, "queries_failed"},
      {"queries_stopped_total", kCounter, "queries", "Queries that the time limit ended.", stats,
       "queries_stopped"},
      {"queries_cancelled_total", kCounter, "queries", "Queries whose client left.", stats,
       "queries_cancelled"},
      {"queries_waiting", kGauge, "queries", "Queries that wait for a thread.", stats,
       "queries_waiting"},
      {"queries_running", kGauge, "queries", "Queries that are running.", stats, "queries_running"},
      {"query_seconds", kHistogram, "seconds",
       "Time from a query's arrival until its answer was ready.", kQueryDurations},
      {"clients", kGauge, "clients", "Connected clients.", stats, "clients"},
      {"clients_cut_off_total", kCounter, "clients",
       "Clients that were disconnected because they did not read answers.", stats,
       "clients_cut_off"},
      {"unread_bytes", kGauge, "bytes", "Bytes of answers that clients have not read.", stats,
       "unread_bytes"},
  }};
}

// Returns the metrics of a process and those of its queries, in this order.
template <size_t kOwn>
constexpr std::array<Metric, kOwn + 10> WithQueries(const Metric (&own)[kOwn],
                                                    std::string_view stats) {
  std::array<Metric, kOwn + 10> all{};
  const std::array<Metric, 10> queries = QueryMetrics(stats);
  for (size_t i = 0; i < kOwn; ++i) all[i] = own[i];
  for (size_t i = 0; i < queries.size(); ++i) all[kOwn + i] = queries[i];
  return all;
}

}  // namespace tickstack::serve
