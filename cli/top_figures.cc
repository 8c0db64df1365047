#include "cli/top_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "aggengine/aggengine_metrics.h"
#include "base/printable.h"
#include "base/time.h"
#include "bridge/bridge_metrics.h"
#include "feed/feed_metrics.h"
#include "gateway/gateway_metrics.h"
#include "hdb/hdb_metrics.h"
#include "rdb/rdb_metrics.h"
#include "tickerplant/tickerplant_metrics.h"
#include "wire/protocol.h"

namespace tickstack::cli {
namespace {

constexpr std::string_view kTp = wire::protocol::kStats, kRdb = ".rdb.stats", kFeed = ".feed.stats",
                           kHdb = ".hdb.stats", kMonitor = ".monitor.stats", kAgg = ".agg.stats",
                           kLatency = ".rdb.latency", kTiers = "tiers", kBridge = ".bridge.stats",
                           kGateway = ".gateway.stats";
constexpr double kNsPerMs = 1e6;

// Returns an entry of a dictionary. Unlike StatusFacts::Number, returns nullopt for numbers beyond
// 9e15 too, because the answers may come from a foreign server.
std::optional<double> Number(const serve::StatusFacts& facts, std::string_view source,
                             std::string_view key) {
  constexpr double kLargest = 9e15;
  const std::optional<double> number = facts.Number(source, key);
  return number && std::abs(*number) <= kLargest ? number : std::nullopt;
}

// A counter of one process, at two times.
class Rates {
 public:
  Rates(const TopAnswer* before, const TopAnswer& now) : before_(before), now_(now) {}

  // Returns what the counter grew by per second; nullopt if it fell, as after a restart.
  std::optional<double> Of(std::string_view source, std::string_view key) const {
    if (before_ == nullptr || before_->time_ns == 0 || before_->time_ns >= now_.time_ns) {
      return std::nullopt;
    }
    const std::optional<double> then = Number(before_->facts, source, key);
    const std::optional<double> count = Number(now_.facts, source, key);
    if (!then || !count || *count < *then) return std::nullopt;
    return (*count - *then) * 1e9 / static_cast<double>(now_.time_ns - before_->time_ns);
  }

 private:
  const TopAnswer* const before_;
  const TopAnswer& now_;
};

std::optional<double> Scaled(std::optional<double> number, double scale) {
  if (number) *number *= scale;
  return number;
}

bool IsSet(const serve::StatusFacts& facts, std::string_view source, std::string_view key) {
  return Number(facts, source, key).value_or(0) != 0;
}

// The state of a process that subscribes to a tickerplant.
std::string SubscriberState(const serve::StatusFacts& facts, std::string_view source) {
  if (IsSet(facts, source, "incomplete")) return "incomplete";
  if (!IsSet(facts, source, "connected")) return "unconnected";
  return IsSet(facts, source, "live") ? "live" : "replaying";
}

void AddTickerplant(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out) {
  out.state = Number(facts, kTp, "day_overdue_ms").value_or(0) > 0 ? "day is over" : "live";
  out.rows_in_per_s = rates.Of(kTp, "rows");
  out.messages_out_per_s = rates.Of(kTp, "published_messages");
  out.behind_rows = Number(facts, kTp, "behind_rows");
  out.lag_ms = Number(facts, kTp, "behind_ms");
  out.queued_bytes = Number(facts, kTp, "queued_bytes");
  out.clients = Number(facts, kTp, "subscribers");
}

// The lag of a chained tickerplant is that of its slowest subscriber, or its own if that is larger.
void AddChained(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out) {
  AddTickerplant(facts, rates, out);
  out.state = Printable(facts.Text(wire::protocol::kUpstream, "state"));
  out.behind_messages = Number(facts, wire::protocol::kUpstream, "behind_messages");
  const double behind_ms = Number(facts, wire::protocol::kUpstream, "behind_ms").value_or(0);
  out.lag_ms = std::max(out.lag_ms.value_or(0), behind_ms);
}

// Adds the figures of a process that clients query.
void AddClients(const serve::StatusFacts& facts, std::string_view source, const Rates& rates,
                ProcessFigures& out) {
  out.queries_per_s = rates.Of(source, "queries");
  out.queued_bytes = Number(facts, source, "unread_bytes");
  out.queries_waiting = Number(facts, source, "queries_waiting");
  out.clients = Number(facts, source, "clients");
}

void AddRdb(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out) {
  out.state = SubscriberState(facts, kRdb);
  out.rows_in_per_s = rates.Of(kRdb, "rows");
  AddClients(facts, kRdb, rates, out);
  if (Number(facts, kLatency, "count").value_or(0) > 0) {
    out.p50_ms = Scaled(Number(facts, kLatency, "p50"), 1 / kNsPerMs);
    out.p99_ms = Scaled(Number(facts, kLatency, "p99"), 1 / kNsPerMs);
  }
  out.memory_bytes = Number(facts, kRdb, "bytes");
}

void AddFeed(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out) {
  out.state = Printable(facts.Text(kFeed, "state"));
  out.rows_out_per_s = rates.Of(kFeed, "rows_total");
  out.lag_ms = Number(facts, kFeed, "lag_ms");
}

// Adds those of a process that exists for queries: its latency is theirs.
void AddQueries(const serve::StatusFacts& facts, std::string_view source, const Rates& rates,
                ProcessFigures& out) {
  AddClients(facts, source, rates, out);
  if (Number(facts, source, "queries").value_or(0) > 0) {
    out.p50_ms = Scaled(Number(facts, source, "query_ns_p50"), 1 / kNsPerMs);
    out.p99_ms = Scaled(Number(facts, source, "query_ns_p99"), 1 / kNsPerMs);
  }
}

void AddHdb(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out) {
  out.state = Number(facts, kHdb, "partitions")
                  ? fmt::format("{:.0f} days", Number(facts, kHdb, "partitions").value_or(0))
                  : "no days";
  AddQueries(facts, kHdb, rates, out);
  out.memory_bytes = Number(facts, kHdb, "decompressed_bytes");
}

void AddMonitor(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out) {
  out.state = IsSet(facts, kMonitor, "connected") ? "measuring" : "unconnected";
  out.queries_per_s = rates.Of(kMonitor, "samples");
  out.lag_ms = Number(facts, kMonitor, "sample_age_ms");
}

void AddAggEngine(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out) {
  out.state = SubscriberState(facts, kAgg);
  out.rows_in_per_s = rates.Of(kAgg, "rows_in");
  out.rows_out_per_s = rates.Of(kAgg, "rows_out");
  out.lag_ms = Scaled(Number(facts, kAgg, "lag_ns"), 1 / kNsPerMs);
  out.memory_bytes = Number(facts, kAgg, "state_bytes").value_or(0) +
                     Number(facts, kAgg, "history_bytes").value_or(0);
}

void AddBridge(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out) {
  out.state = Printable(facts.Text(kBridge, "state"));
  out.rows_in_per_s = rates.Of(kBridge, "rows");
  out.rows_out_per_s = rates.Of(kBridge, "rows_written");
  out.lag_ms = Number(facts, kBridge, "lag_ms");
  out.queued_bytes = Number(facts, kBridge, "bytes_waiting");
}

void AddGateway(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out) {
  const auto number = [&facts](std::string_view key) {
    return Number(facts, kGateway, key).value_or(0);
  };
  const bool live = number("rdbs_live") == number("rdbs") && number("hdbs_live") == number("hdbs");
  out.state = live
                  ? "live"
                  : fmt::format("{:.0f} of {:.0f} rdbs, {:.0f} of {:.0f} hdbs", number("rdbs_live"),
                                number("rdbs"), number("hdbs_live"), number("hdbs"));
  AddQueries(facts, kGateway, rates, out);
}

struct Role {
  std::string_view name;
  void (*add)(const serve::StatusFacts& facts, const Rates& rates, ProcessFigures& out);
  // Why it is not ready, as /readyz says; without disks, and without figures that only the process
  // itself has.
  serve::Reasons (*reasons)(const serve::StatusFacts& facts, const serve::HealthLimits& limits);
};

// An rdb that serves a log has no tickerplant, and says so by its state.
const Role kRoles[] = {
    {"tickerplant", AddTickerplant, tickerplant::ReasonsOf},
    {"chained", AddChained, tickerplant::ReasonsOf},
    {"rdb", AddRdb,
     [](const serve::StatusFacts& facts, const serve::HealthLimits& limits) {
       return rdb::ReasonsOf(facts, limits, /*subscribes=*/false);
     }},
    {"feed", AddFeed, feed::ReasonsOf},
    {"hdb", AddHdb,
     [](const serve::StatusFacts& facts, const serve::HealthLimits& /*limits*/) {
       // There is no database before the first day has ended.
       return Number(facts, kHdb, "partitions") ? hdb::ReasonsOf(facts) : serve::Reasons();
     }},
    {"monitor", AddMonitor,
     [](const serve::StatusFacts& facts, const serve::HealthLimits& /*limits*/) {
       // Only the monitor knows how often samples are due.
       return IsSet(facts, kMonitor, "connected") ? serve::Reasons()
                                                  : serve::Reasons{"the rdb is lost"};
     }},
    {"aggengine", AddAggEngine, aggengine::ReasonsOf},
    {"bridge", AddBridge, bridge::ReasonsOf},
    {"gateway", AddGateway,
     [](const serve::StatusFacts& facts, const serve::HealthLimits& /*limits*/) {
       return gateway::ReasonsOf(facts);
     }},
};

const TopAnswer* Find(const std::vector<TopAnswer>& answers, const TopAnswer& like) {
  const auto found = std::ranges::find_if(answers, [&like](const TopAnswer& each) {
    return each.name == like.name && each.role == like.role;
  });
  return found == answers.end() ? nullptr : &*found;
}

void AddTiers(const TopAnswer& answer, const serve::HealthLimits& limits, StackFigures& out) {
  const Value* const table = answer.facts.Find(kTiers);
  if (table == nullptr || !table->is_table()) return;
  const std::vector<serve::NamedNumber> capacity = serve::NumbersIn(*table, "tier", "capacity");
  const std::vector<serve::NamedNumber> refused = serve::NumbersIn(*table, "tier", "refused");
  const std::vector<serve::NamedNumber> passes_on = serve::NumbersIn(*table, "tier", "passes_on");
  const auto number_of = [](const std::vector<serve::NamedNumber>& numbers,
                            const std::string& tier) {
    const auto at = std::ranges::find(numbers, tier, &serve::NamedNumber::name);
    return at == numbers.end() ? 0 : at->number;
  };
  for (const serve::NamedNumber& used : serve::NumbersIn(*table, "tier", "used")) {
    TierFigure tier{answer.name, Printable(used.name), used.number, std::nullopt,
                    number_of(refused, used.name)};
    const double bytes = number_of(capacity, used.name);
    if (bytes > 0 && std::isfinite(bytes)) tier.capacity_bytes = bytes;
    const double percent = 100 * used.number / tier.capacity_bytes.value_or(INFINITY);
    // A tier that passes rows on to another one may be full.
    if (percent > limits.tier_used_percent && number_of(passes_on, used.name) == 0) {
      out.problems.push_back(
          fmt::format("{}: tier {} is {:.0f} % full", tier.rdb, tier.tier, percent));
    }
    out.tiers.push_back(std::move(tier));
  }
}

// Finds how many messages of the tickerplant's log each subscriber lacks. With several
// tickerplants, it is not known whose log a subscriber reads.
void AddBehind(const std::vector<TopAnswer>& answers, StackFigures& out) {
  const auto is_plant = [](const TopAnswer& each) {
    return each.role == "tickerplant" || each.role == "chained";
  };
  if (std::ranges::count_if(answers, is_plant) != 1) return;
  const std::optional<double> published =
      Number(std::ranges::find_if(answers, is_plant)->facts, kTp, "published_seq");
  for (size_t i = 0; i < answers.size(); ++i) {
    const std::string_view source = answers[i].role == "rdb"         ? kRdb
                                    : answers[i].role == "aggengine" ? kAgg
                                                                     : std::string_view();
    const std::optional<double> seq = Number(answers[i].facts, source, "seq");
    // The two processes answered at slightly different times.
    if (published && seq) out.processes[i].behind_messages = std::max(0.0, *published - *seq);
  }
}

}  // namespace

StackFigures FiguresOf(const std::vector<TopAnswer>& before, const std::vector<TopAnswer>& now,
                       const serve::HealthLimits& limits) {
  StackFigures out;
  for (const TopAnswer& answer : now) {
    ProcessFigures figures;
    figures.name = answer.name;
    figures.role = answer.role;
    figures.answers = answer.error.empty();
    const auto role = std::ranges::find(kRoles, answer.role, &Role::name);
    if (!figures.answers) {
      figures.state = answer.error == "no answer" ? "silent" : "down";
      out.problems.push_back(fmt::format("{}: {}", answer.name, answer.error));
    } else if (role != std::end(kRoles)) {
      role->add(answer.facts, Rates(Find(before, answer), answer), figures);
      for (const std::string& reason : role->reasons(answer.facts, limits)) {
        out.problems.push_back(fmt::format("{}: {}", answer.name, Printable(reason)));
      }
      AddTiers(answer, limits, out);
    }
    const Value* const day = answer.facts.Find(wire::protocol::kDate);
    const bool is_first = out.day.empty() || answer.role == "tickerplant";
    if (day != nullptr && day->is_atom_of(Type::kDate) && is_first) {
      out.day = FormatDate(day->as<int32_t>());
    }
    out.processes.push_back(std::move(figures));
  }
  AddBehind(now, out);
  return out;
}

}  // namespace tickstack::cli
