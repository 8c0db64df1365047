#include "gateway/gateway_metrics.h"

#include "serve/query_metrics.h"

namespace tickstack::gateway {
namespace {

using enum serve::MetricType;

constexpr std::string_view kStats = ".gateway.stats";

constexpr serve::Metric kOwnMetrics[] = {
    {"whole_total", kCounter, "requests", "Requests that one process answered as a whole.", kStats,
     "whole"},
    {"parts_total", kCounter, "queries",
     "Queries that were sent for requests that the gateway evaluates.", kStats, "parts"},
    {"moved_total", kCounter, "queries",
     "Queries that found that a day had moved from the rdbs to the hdbs.", kStats, "moved"},
    {"rdbs", kGauge, "", "Rdbs in the configuration.", kStats, "rdbs"},
    {"rdbs_live", kGauge, "", "Rdbs that answer and have all published rows.", kStats, "rdbs_live"},
    {"hdbs", kGauge, "", "Hdbs in the configuration.", kStats, "hdbs"},
    {"hdbs_live", kGauge, "", "Hdbs that answer.", kStats, "hdbs_live"},
    {"shards", kGauge, "", "Shards in the configuration; 1 if symbols are not spread.", kStats,
     "shards"},
    {"shards_live", kGauge, "",
     "Shards with a live rdb and an hdb that answers, as far as they have such processes.", kStats,
     "shards_live"},
    {"failures_total", kCounter, "",
     "Connections to rdbs and hdbs that were lost or refused while a question waited.", kStats,
     "failures"},
    {"hedged_total", kCounter, "queries",
     "Questions that a second process got, too, because the first one hung.", kStats, "hedged"},
};
constexpr auto kMetrics = serve::WithQueries(kOwnMetrics, kStats);

serve::StatusFacts FactsOf(GatewayEnvironment& environment) {
  serve::StatusFacts facts;
  facts.answers.push_back({kStats, environment.Stats()});
  facts.durations.push_back({serve::kQueryDurations, "", environment.queries().Durations()});
  return facts;
}

}  // namespace

std::span<const serve::Metric> Metrics() { return kMetrics; }

serve::Reasons ReasonsOf(const serve::StatusFacts& facts) {
  serve::Reasons reasons;
  const auto none_of = [&facts](std::string_view all, std::string_view live) {
    return facts.NumberOr0(kStats, all) > 0 && facts.NumberOr0(kStats, live) == 0;
  };
  if (none_of("rdbs", "rdbs_live")) reasons.emplace_back("no rdb is live");
  if (none_of("hdbs", "hdbs_live")) reasons.emplace_back("no hdb answers");
  if (reasons.empty() &&
      facts.NumberOr0(kStats, "shards_live") < facts.NumberOr0(kStats, "shards")) {
    reasons.emplace_back("a shard has no live rdb, or no hdb that answers");
  }
  return reasons;
}

serve::ProcessStatusOptions StatusOf(const GatewayMainOptions& options,
                                     GatewayEnvironment& environment) {
  return {.role = "gateway",
          .name = options.name,
          .metrics = Metrics(),
          .facts = [&environment] { return FactsOf(environment); },
          .reasons = [](const serve::StatusFacts& facts,
                        const serve::HealthLimits&) { return ReasonsOf(facts); },
          .limits = options.health};
}

}  // namespace tickstack::gateway
