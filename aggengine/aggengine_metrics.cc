#include "aggengine/aggengine_metrics.h"

#include <fmt/format.h>

namespace tickstack::aggengine {
namespace {

using enum serve::MetricType;

constexpr std::string_view kStats = ".agg.stats", kLag = "lag";
constexpr double kNs = 1e-9;

constexpr serve::Metric kMetrics[] = {
    {"rows_in_total", kCounter, "rows", "Rows that were received.", kStats, "rows_in"},
    {"rows_replayed_total", kCounter, "rows", "Rows that were read from the log.", kStats,
     "rows_replayed"},
    {"rows_late_total", kCounter, "rows", "Rows older than an earlier row of their symbol.", kStats,
     "rows_late"},
    {"rows_without_time_total", kCounter, "rows", "Rows without a time, which are in no bar.",
     kStats, "rows_without_time"},
    {"rows_refused_total", kCounter, "rows", "Rows that bars lack because a tier was full.", kStats,
     "rows_refused"},
    {"rows_forgotten_total", kCounter, "rows",
     "Rows that came too late to change their time-weighted mean.", kStats, "rows_forgotten"},
    {"upds_refused_total", kCounter, "messages",
     "Messages that were damaged, or whose rows did not have their table's types.", kStats,
     "upds_refused"},
    {"messages_total", kCounter, "messages", "Messages that were received.", kStats, "messages"},
    {"messages_missing_total", kCounter, "messages",
     "Messages of a log that could not be read because it is damaged.", kStats, "messages_missing"},
    {"rows_out_total", kCounter, "rows", "Rows of bars that were sent.", kStats, "rows_out"},
    {"rows_out_again_total", kCounter, "rows",
     "Rows of bars that were sent again after a lost connection.", kStats, "rows_out_again"},
    {"messages_out_total", kCounter, "messages", "Messages that were sent.", kStats,
     "messages_out"},
    {"messages_out_refused_total", kCounter, "messages",
     "Sent messages that were answered with an error.", kStats, "messages_out_refused"},
    {"messages_unanswered", kGauge, "messages", "Sent messages without an answer.", kStats,
     "messages_unanswered"},
    {"rows_waiting", kGauge, "rows", "Changed bars that are not sent yet.", kStats, "rows_waiting"},
    {"bar_lag_seconds", kHistogram, "seconds",
     "Time from the timestamp of the newest row until its bars were sent.", kLag},
    {"last_bar_lag_seconds",
     kGauge,
     "seconds",
     "Time from the timestamp of the newest row in the last message until its bars were sent.",
     kStats,
     "lag_ns",
     {},
     kNs},
    {"bars", kGauge, "bars", "Bars in memory.", kStats, "bars"},
    {"state_bytes", kGauge, "bytes", "Memory of bars in their tier.", kStats, "state_bytes"},
    {"history_bytes", kGauge, "bytes", "Memory of quotes for time-weighted means.", kStats,
     "history_bytes"},
    {"connected", kGauge, "", "1 while connected to the tickerplant.", kStats, "connected"},
    {"live", kGauge, "", "1 if all messages of the log are applied and new ones arrive.", kStats,
     "live"},
    {"incomplete", kGauge, "", "1 if no bars are published because rows are missing.", kStats,
     "incomplete"},
    {"day_ends_total", kCounter, "days", "Days that ended.", kStats, "days_ended"},
};

}  // namespace

std::span<const serve::Metric> Metrics() { return kMetrics; }

serve::StatusFacts FactsOf(const Engine& engine) {
  serve::StatusFacts facts;
  facts.answers.push_back({kStats, engine.Stats(/*asks_kernel=*/false)});
  facts.durations.push_back({kLag, "", engine.LagBuckets()});
  return facts;
}

serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& /*limits*/) {
  serve::Reasons reasons;
  if (facts.NumberOr0(kStats, "connected") == 0) {
    reasons.emplace_back("it is not connected to the tickerplant");
  } else if (facts.NumberOr0(kStats, "live") == 0) {
    reasons.emplace_back("it is behind: rows of the log are still being read");
  }
  if (facts.NumberOr0(kStats, "incomplete") != 0) {
    reasons.push_back(
        fmt::format("no bars are published, because {:.0f} messages of the log could not be read",
                    facts.NumberOr0(kStats, "messages_missing")));
  }
  if (const double refused = facts.NumberOr0(kStats, "rows_refused"); refused > 0) {
    reasons.push_back(fmt::format("bars lack {:.0f} rows, because a tier is full", refused));
  }
  return reasons;
}

}  // namespace tickstack::aggengine
