#include "feed/feed_metrics.h"

#include <fmt/format.h>

#include <string>

#include "base/human_text.h"

namespace tickstack::feed {
namespace {

using enum serve::MetricType;

constexpr std::string_view kStats = ".feed.stats";
constexpr double kMs = 1e-3;

constexpr serve::Metric kMetrics[] = {
    {"rows_sent_total", kCounter, "rows",
     "Rows that were sent, including rows that were sent again.", kStats, "rows_total"},
    {"sent_rows", kGauge, "rows",
     "Number of the next row to send; it falls when the feed sends rows again after a lost "
     "connection.",
     kStats, "rows", "table"},
    {"logged_rows", kGauge, "rows", "Rows under the feed's name that the tickerplant has logged.",
     kStats, "logged", "table"},
    {"rows_per_second", kGauge, "rows per second",
     "Rows sent per second, measured over at least the last second.", kStats, "rows_per_s"},
    {"lag_seconds",
     kGauge,
     "seconds",
     "Time for which the next row has been due.",
     kStats,
     "lag_ms",
     {},
     kMs},
    {"lag_seconds_max",
     kGauge,
     "seconds",
     "The largest lag of a sent message.",
     kStats,
     "lag_ms_max",
     {},
     kMs},
    {"connected", kGauge, "", "1 while connected to the tickerplant.", kStats, "connected"},
    {"state", kGauge, "",
     "1 for the feed's state: waiting, asking, held, publishing, confirming, done or failed.",
     kStats, "state", "state"},
    {"line_packets_total", kCounter, "packets", "Packets that a line of a live source received.",
     kStats, "line_packets", "line"},
    {"line_bytes_total", kCounter, "bytes", "Payload bytes of the packets of a line.", kStats,
     "line_bytes", "line"},
    {"line_lost_packets_total", kCounter, "packets",
     "Packets of a line that the kernel dropped, for want of room in the receive buffer.", kStats,
     "line_lost", "line"},
    {"line_repeated_messages_total", kCounter, "messages",
     "Messages of a line that were received before.", kStats, "line_repeated", "line"},
    {"line_bad_packets_total", kCounter, "packets", "Packets of a line that do not fit.", kStats,
     "line_bad", "line"},
    {"reconnects_total", kCounter, "connections", "Connections to the tickerplant after the first.",
     kStats, "reconnects"},
    {"rows_refused_total", kCounter, "rows", "Rows that had to be sent again.", kStats, "refused"},
    {"messages_total", kCounter, "messages",
     "What was read of a recorded feed: messages of each type, those that do not fit, packets, "
     "gaps. Begins again at 0 when the feed reads its source again.",
     kStats, "messages", "message"},
    {"queue_full_total", kCounter, "times", "Times that the send queue was full.", kStats,
     "queue_full"},
};

}  // namespace

std::span<const serve::Metric> Metrics() { return kMetrics; }

serve::StatusFacts FactsOf(const FeedService& service) {
  serve::StatusFacts facts;
  facts.answers.push_back({kStats, service.Stats()});
  return facts;
}

// A feed that has not been started, or has sent everything, is ready.
serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits) {
  serve::Reasons reasons;
  const std::string state = facts.Text(kStats, "state");
  if (state == NameOf(FeedState::kFailed) || state == NameOf(FeedState::kHeld)) {
    reasons.push_back(fmt::format("the feed is {}: {}", state, facts.Text(kStats, "error")));
  } else if (state != NameOf(FeedState::kDone) && facts.NumberOr0(kStats, "connected") == 0) {
    reasons.emplace_back("it is not connected to the tickerplant");
  }
  const double lag_ms = facts.NumberOr0(kStats, "lag_ms");
  if (state == NameOf(FeedState::kPublishing) &&
      lag_ms > static_cast<double>(limits.behind_ns) * 1e-6) {
    reasons.push_back(fmt::format("rows are {} late", MsText(lag_ms)));
  }
  return reasons;
}

}  // namespace tickstack::feed
