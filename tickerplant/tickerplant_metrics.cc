#include "tickerplant/tickerplant_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>

#include "base/human_text.h"
#include "base/time.h"
#include "wire/protocol.h"

namespace tickstack::tickerplant {
namespace {

using enum serve::MetricType;

constexpr std::string_view kStats = wire::protocol::kStats, kActivity = wire::protocol::kActivity;
constexpr double kMs = 1e-3;
// A day may be over for this long before it ends: closers have 5 s, and a clock that jumps is
// watched for 30 s.
constexpr double kOverdueMsMax = 60'000;

constexpr std::string_view kReplica = wire::protocol::kReplica;

constexpr serve::Metric kMetrics[] = {
    {"rows_logged_total", kCounter, "rows", "Rows that were logged.", kActivity, "rows", "table"},
    {"rows_accepted_total", kCounter, "rows", "Rows that were accepted from feeds.", kStats,
     "rows"},
    {"rows_duplicated_total", kCounter, "rows",
     "Numbered rows that were dropped because they had been logged before.", kStats,
     "rows_duplicated"},
    {"upds_total", kCounter, "messages", "Messages with rows that were accepted.", kStats, "upds"},
    {"upds_refused_total", kCounter, "messages", "Messages with rows that were refused.", kStats,
     "upds_refused"},
    {"logged_messages", kGauge, "messages", "Messages in today's log.", kStats, "logged_seq"},
    {"published_messages", kGauge, "messages", "Messages of today's log that are published.",
     kStats, "published_seq"},
    {"publications_total", kCounter, "messages", "Messages that were sent to subscribers.", kStats,
     "published_messages"},
    {"log_bytes", kGauge, "bytes", "Size of today's log.", kStats, "log_bytes"},
    {"log_retries_total", kCounter, "writes", "Writes of the log that found the disk full.", kStats,
     "log_retries"},
    {"connections", kGauge, "clients", "Connected clients.", kStats, "connections"},
    {"subscribers", kGauge, "clients", "Connected subscribers.", kStats, "subscribers"},
    {"subscribers_behind", kGauge, "clients",
     "Subscribers that are served from the log because they read too slowly.", kStats,
     "subscribers_behind"},
    {"fell_behind_total", kCounter, "times", "Times that a subscriber fell behind.", kStats,
     "fell_behind"},
    {"behind_rows", kGauge, "rows", "Rows by which the slowest subscriber is behind.", kStats,
     "behind_rows"},
    {"behind_seconds",
     kGauge,
     "seconds",
     "Age of the rows that the slowest subscriber is receiving.",
     kStats,
     "behind_ms",
     {},
     kMs},
    {"subscribers_dropped_total", kCounter, "clients",
     "Subscribers that were disconnected because they stalled.", kStats, "subscribers_dropped"},
    {"queued_bytes", kGauge, "bytes", "Unsent bytes for all subscribers.", kStats, "queued_bytes"},
    {"queued_bytes_max", kGauge, "bytes", "Unsent bytes of the subscriber that has most of them.",
     kStats, "queued_bytes_max"},
    {"feeds", kGauge, "feeds", "Feeds that own a name.", kStats, "feeds"},
    {"feeds_waiting", kGauge, "feeds", "Feeds that wait for a slow subscriber.", kStats,
     "feeds_waiting"},
    {"feed_claims_refused_total", kCounter, "times",
     "Claims of a feed's name that were refused because another feed owned it.", kStats,
     "feed_claims_refused"},
    {"feed_takeovers_total", kCounter, "times", "Feed names that were taken over.", kStats,
     "feed_takeovers"},
    {"feed_upds_refused_total", kCounter, "messages",
     "Messages that were refused because their sender does not own the feed's name.", kStats,
     "feed_upds_refused"},
    {"table_silent_seconds", kGauge, "seconds", "Time since rows of the table were logged.",
     kActivity, "table_ms", "table", kMs},
    {"feed_silent_seconds", kGauge, "seconds", "Time since rows of the feed were logged.",
     kActivity, "feed_ms", "feed", kMs},
    {"day_overdue_seconds",
     kGauge,
     "seconds",
     "Time for which the day has been over although end of day has not run.",
     kStats,
     "day_overdue_ms",
     {},
     kMs},
};

// Metrics of a leader of several tickerplants.
constexpr serve::Metric kReplicationMetrics[] = {
    {"replication_epoch", kGauge, "leaders", "This leader's number.", kReplica, "epoch"},
    {"replication_enough", kGauge, "states", "1 while rows can be replicated, so feeds are read.",
     kReplica, "enough"},
    {"replication_in_flight_bytes", kGauge, "bytes",
     "Blocks that are replicated and not logged yet.", kReplica, "in_flight_bytes"},
    {"replication_in_sync", kGauge, "members", "Standbys in the in-sync set.", kReplica, "in_sync"},
    {"replication_silent_seconds",
     kGauge,
     "seconds",
     "With a log in a topic: how long its oldest record has waited for an answer.",
     kReplica,
     "silent_ms",
     {},
     kMs},
};

constexpr std::string_view kUpstream = wire::protocol::kUpstream;

constexpr serve::Metric kUpstreamMetrics[] = {
    {"upstream_connected", kGauge, "connections", "1 while the upstream is connected.", kUpstream,
     "connected"},
    {"upstream_day", kGauge, "days", "1, with the day that is being copied as label.", kUpstream,
     "day", "day"},
    {"upstream_messages", kGauge, "messages", "Messages of the day's log that have been read.",
     kUpstream, "messages"},
    {"upstream_behind_messages", kGauge, "messages",
     "Messages of the upstream's log that have not been read; omitted if their number is not "
     "known.",
     kUpstream, "behind_messages"},
    {"upstream_behind_seconds",
     kGauge,
     "seconds",
     "Time since the end of the upstream's log was reached; 0 at its end.",
     kUpstream,
     "behind_ms",
     {},
     kMs},
    {"upstream_lost_total", kCounter, "times", "Times that the upstream was lost.", kUpstream,
     "lost"},
    {"upstream_refusals_total", kCounter, "times",
     "Times that the upstream could not be copied, for a reason that .u.upstream[] says.",
     kUpstream, "refusals"},
    {"upstream_days_missing_total", kCounter, "days",
     "Days whose last rows are missing because the upstream did not have their logs any more.",
     kUpstream, "days_missing"},
    {"upstream_days_skipped_total", kCounter, "days",
     "Days between two copied ones of which the upstream has no log.", kUpstream, "days_skipped"},
};

constexpr serve::Metric kStandbyMetrics[] = {
    {"epoch", kGauge, "leaders", "Number of the cluster's newest leader.", kReplica, "epoch"},
    {"follows", kGauge, "connections", "1 while the leader's blocks are being logged.", kReplica,
     "follows"},
    {"in_sync", kGauge, "members", "1 if this standby is in the in-sync set.", kReplica, "in_sync"},
    {"logged_messages", kGauge, "messages", "Messages in the newest day's log.", kReplica,
     "messages"},
    {"store_silent_seconds",
     kGauge,
     "seconds",
     "Time since etcd answered last.",
     kReplica,
     "store_silent_ms",
     {},
     kMs},
};

// Both lists together.
template <size_t N, size_t M>
constexpr std::array<serve::Metric, N + M> Joined(const serve::Metric (&first)[N],
                                                  const serve::Metric (&second)[M]) {
  std::array<serve::Metric, N + M> all{};
  std::ranges::copy(second, std::ranges::copy(first, all.begin()).out);
  return all;
}

constexpr auto kTickerplantMetrics = Joined(kMetrics, kReplicationMetrics);
constexpr auto kChainedMetrics = Joined(kMetrics, kUpstreamMetrics);

void AddUpstream(const serve::StatusFacts& facts, const serve::HealthLimits& limits,
                 serve::Reasons& reasons) {
  if (facts.Find(kUpstream) == nullptr) return;
  const std::string error = facts.Text(kUpstream, "error");
  const std::string address = facts.Text(kUpstream, "address");
  if (facts.NumberOr0(kUpstream, "connected") == 0) {
    reasons.push_back(fmt::format("the upstream {} is not connected: {}", address, error));
  } else if (!error.empty()) {
    reasons.push_back(fmt::format("the upstream {} cannot be copied: {}", address, error));
  }
  const double behind_ms = facts.NumberOr0(kUpstream, "behind_ms");
  if (behind_ms > static_cast<double>(limits.behind_ns) * 1e-6) {
    reasons.push_back(fmt::format("{} behind the upstream, with {:.0f} messages to read",
                                  MsText(behind_ms),
                                  facts.NumberOr0(kUpstream, "behind_messages")));
  }
}

// What keeps the leader of a cluster from logging rows.
void AddStandbys(const serve::StatusFacts& facts, serve::Reasons& reasons) {
  if (facts.Find(kReplica) == nullptr) return;
  if (facts.NumberOr0(kReplica, "settled") == 0) {
    reasons.push_back("takes over, and waits until its log is replicated");
  } else if (const std::string error = facts.Text(kReplica, "error"); !error.empty()) {
    reasons.push_back(fmt::format("feeds are paused: {}", error));
  } else if (facts.NumberOr0(kReplica, "enough") == 0) {
    reasons.push_back(
        fmt::format("feeds are paused: {:.0f} standbys are in sync, fewer than must "
                    "acknowledge",
                    facts.NumberOr0(kReplica, "in_sync")));
  }
}

void AddSilentFeeds(const serve::StatusFacts& facts, double at_most_ms, serve::Reasons& reasons) {
  for (const serve::NamedNumber& feed : facts.Numbers(kActivity, "feed_ms")) {
    if (feed.number <= at_most_ms) continue;
    reasons.push_back(fmt::format("feed {} has sent no rows for {}, expected at most {}", feed.name,
                                  MsText(feed.number), MsText(at_most_ms)));
  }
}

}  // namespace

std::span<const serve::Metric> Metrics() { return kTickerplantMetrics; }

std::span<const serve::Metric> ChainedMetrics() { return kChainedMetrics; }

std::span<const serve::Metric> StandbyMetrics() { return kStandbyMetrics; }

serve::StatusFacts FactsOfStandby(Value replica) {
  serve::StatusFacts facts;
  facts.answers.push_back({kReplica, std::move(replica)});
  return facts;
}

serve::Reasons StandbyReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits&) {
  serve::Reasons reasons;
  if (facts.NumberOr0(kReplica, "follows") == 0) {
    reasons.push_back(fmt::format("does not follow the leader: {}", facts.Text(kReplica, "error")));
  } else if (facts.NumberOr0(kReplica, "in_sync") == 0) {
    reasons.push_back("is not in sync with the leader yet");
  }
  return reasons;
}

serve::StatusFacts FactsOf(const TickerplantService& service) {
  serve::StatusFacts facts;
  facts.answers.push_back({kStats, service.Stats()});
  facts.answers.push_back({kActivity, service.ActivityOfToday()});
  if (absl::StatusOr<Value> upstream = service.UpstreamStats(); upstream.ok()) {
    facts.answers.push_back({kUpstream, *std::move(upstream)});
  }
  if (absl::StatusOr<Value> replica = service.ReplicaStats(); replica.ok()) {
    facts.answers.push_back({kReplica, *std::move(replica)});
  }
  return facts;
}

serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits) {
  serve::Reasons reasons;
  const double behind_ms = facts.NumberOr0(kStats, "behind_ms");
  if (behind_ms > static_cast<double>(limits.behind_ns) * 1e-6) {
    reasons.push_back(fmt::format("a subscriber is {} and {:.0f} rows behind", MsText(behind_ms),
                                  facts.NumberOr0(kStats, "behind_rows")));
  }
  AddUpstream(facts, limits, reasons);
  AddStandbys(facts, reasons);
  const double overdue_ms = facts.NumberOr0(kStats, "day_overdue_ms");
  if (overdue_ms > kOverdueMsMax) {
    reasons.push_back(
        fmt::format("the day has been over for {} and has not ended", MsText(overdue_ms)));
  }
  if (limits.feed_silent_ns > 0) {
    AddSilentFeeds(facts, static_cast<double>(limits.feed_silent_ns) * 1e-6, reasons);
  }
  return reasons;
}

}  // namespace tickstack::tickerplant
