#include "monitor/monitor_metrics.h"

#include <fmt/format.h>

#include "base/human_text.h"

namespace tickstack::monitor {
namespace {

using enum serve::MetricType;

constexpr std::string_view kStats = ".monitor.stats", kMeasured = "measured";
constexpr double kMs = 1e-3;

constexpr serve::Metric kMetrics[] = {
    {"samples_total", kCounter, "samples", "Samples since measuring began.", kStats, "samples"},
    {"samples_missed_total", kCounter, "samples",
     "Samples that were due while another one ran, or without an rdb.", kStats, "missed"},
    {"errors_total", kCounter, "queries", "Queries that were answered with an error.", kStats,
     "errors"},
    {"reconnects_total", kCounter, "connections", "Connections to the rdb after the first.", kStats,
     "reconnects"},
    {"answers_total", kCounter, "queries", "Answers to the additional query clients.", kStats,
     "answers"},
    {"client_errors_total", kCounter, "queries",
     "Errors among the answers to the additional query clients.", kStats, "client_errors"},
    {"connected", kGauge, "", "1 while connected to the rdb.", kStats, "connected"},
    {"sample_age_seconds",
     kGauge,
     "seconds",
     "Time since the last sample ended.",
     kStats,
     "sample_age_ms",
     {},
     kMs},
    {"measured_seconds",
     kHistogram,
     "seconds",
     "Measured times: the lag of each table's newest row, the as-of join (asof), and a whole "
     "sample (query).",
     kMeasured,
     {},
     "metric"},
};

}  // namespace

std::span<const serve::Metric> Metrics() { return kMetrics; }

serve::StatusFacts FactsOf(const MonitorService& service) {
  serve::StatusFacts facts;
  facts.answers.push_back({kStats, service.Stats()});
  for (const measure::Metric& metric : service.monitor().metrics()) {
    facts.durations.push_back({kMeasured, metric.name(), metric.Buckets()});
  }
  return facts;
}

serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits,
                         int64_t query_ns) {
  serve::Reasons reasons;
  if (facts.NumberOr0(kStats, "connected") == 0)
    reasons.emplace_back("it is not connected to the rdb");
  const double age_ms = facts.NumberOr0(kStats, "sample_age_ms");
  if (age_ms > static_cast<double>(limits.behind_ns + query_ns) * 1e-6) {
    reasons.push_back(fmt::format("no sample has ended for {}", MsText(age_ms)));
  }
  return reasons;
}

}  // namespace tickstack::monitor
