#include "bridge/bridge_metrics.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/human_text.h"

namespace tickstack::bridge {
namespace {

using enum serve::MetricType;

constexpr std::string_view kStats = ".bridge.stats";
constexpr double kMs = 1e-3;

constexpr serve::Metric kMetrics[] = {
    {"rows_total", kCounter, "rows",
     "Rows taken: from the tickerplant's log, or from Kafka. Rows that are read again count again.",
     kStats, "rows"},
    {"rows_written_total", kCounter, "rows",
     "Rows that are safe on the other side: in a committed transaction, or in the tickerplant's "
     "log.",
     kStats, "rows_written"},
    {"records_total", kCounter, "records", "Kafka records written in transactions, or read.",
     kStats, "records_written"},
    {"bytes_total", kCounter, "bytes",
     "Bytes of rows written to Kafka, or sent to the tickerplant.", kStats, "bytes_written"},
    {"waiting_rows", kGauge, "rows",
     "Rows that wait for a transaction, or for the tickerplant's answer.", kStats, "rows_waiting"},
    {"waiting_bytes", kGauge, "bytes",
     "Bytes of rows that wait for a transaction, or for the tickerplant's answer.", kStats,
     "bytes_waiting"},
    {"lag_seconds",
     kGauge,
     "seconds",
     "To Kafka: time for which the oldest row that is not committed has waited.",
     kStats,
     "lag_ms",
     {},
     kMs},
    {"records_behind", kGauge, "records",
     "From Kafka: offsets between the last record read and the ends of the partitions. A partition "
     "whose end is not known counts as 1.",
     kStats, "records_behind"},
    {"delay_seconds",
     kGauge,
     "seconds",
     "To Kafka: time from the arrival of the first row of the last transaction to its commit. From "
     "Kafka: age of the last logged record.",
     kStats,
     "delay_ms",
     {},
     kMs},
    {"delay_seconds_max", kGauge, "seconds", "The largest delay.", kStats, "delay_ms_max", {}, kMs},
    {"transactions_total", kCounter, "transactions", "Committed transactions.", kStats,
     "transactions"},
    {"transactions_aborted_total", kCounter, "transactions",
     "Transactions that were aborted and written again.", kStats, "aborts"},
    {"errors_total", kCounter, "errors", "Calls to Kafka that failed, or failures to publish.",
     kStats, "errors"},
    {"rows_dropped_total", kCounter, "rows", "From Kafka: rows that the tickerplant had already.",
     kStats, "rows_dropped"},
    {"rows_of_other_shards_total", kCounter, "rows",
     "From Kafka into a shard: rows that belong to other shards. Rows that are read again count "
     "again.",
     kStats, "rows_of_other_shards"},
    {"upds_refused_total", kCounter, "messages",
     "To Kafka: messages of the log that do not fit their table.", kStats, "refused"},
    {"restarts_total", kCounter, "times",
     "Times that it began again after a lost connection or an error.", kStats, "restarts"},
    {"days_ended_total", kCounter, "records",
     "Ends of days written to Kafka, or records of such read.", kStats, "days_ended"},
    {"connected", kGauge, "", "1 while connected to the tickerplant.", kStats, "connected"},
    {"state", kGauge, "",
     "1 for the bridge's state: asking, opening, reading, subscribed, finding, claiming or failed.",
     kStats, "state", "state"},
};

}  // namespace

std::span<const serve::Metric> Metrics() { return kMetrics; }

serve::StatusFacts FactsOf(Value stats) {
  serve::StatusFacts facts;
  facts.answers.push_back({kStats, std::move(stats)});
  return facts;
}

serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits) {
  serve::Reasons reasons;
  const std::string state = facts.Text(kStats, "state");
  const std::string error = facts.Text(kStats, "error");
  if (state == "failed") {
    reasons.push_back(fmt::format("the bridge is failed: {}", error));
  } else if (!error.empty()) {
    reasons.push_back(error);
  } else if (facts.NumberOr0(kStats, "live") == 0) {
    reasons.push_back(fmt::format("it is not live yet: {}", state));
  }
  const double lag_ms = facts.NumberOr0(kStats, "lag_ms");
  if (lag_ms > static_cast<double>(limits.behind_ns) * 1e-6) {
    reasons.push_back(fmt::format("rows wait for Kafka for {}", MsText(lag_ms)));
  }
  return reasons;
}

}  // namespace tickstack::bridge
