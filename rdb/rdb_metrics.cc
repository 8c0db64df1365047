#include "rdb/rdb_metrics.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/human_text.h"
#include "base/time.h"
#include "serve/query_metrics.h"

namespace tickstack::rdb {
namespace {

using enum serve::MetricType;

constexpr std::string_view kStats = ".rdb.stats", kStale = ".rdb.stale", kTiers = ".tier.stats",
                           kBlocked = ".rdb.blocked", kLatency = "latency", kTables = "tables";
constexpr double kMs = 1e-3, kUs = 1e-6, kNs = 1e-9;
// The ingest thread's loop runs at least once per second.
constexpr int64_t kIngestSilentNsMax = 10 * kNsPerSecond;

constexpr serve::Metric kOwnMetrics[] = {
    {"rows_total", kCounter, "rows", "Published rows that were taken.", kStats, "rows"},
    {"messages_total", kCounter, "messages", "Messages that the tickerplant published.", kStats,
     "messages"},
    {"rows_replayed_total", kCounter, "rows", "Rows that were read from a log.", kStats,
     "rows_replayed"},
    {"messages_replayed_total", kCounter, "messages", "Messages that were read from a log.", kStats,
     "messages_replayed"},
    {"row_latency_seconds", kHistogram, "seconds",
     "Time from the timestamp of a published row until it could be queried.", kLatency},
    {"table_rows", kGauge, "rows", "Rows of a table.", kTables, "rows", "table"},
    {"table_bytes", kGauge, "bytes", "Memory of a table's columns and index.", kTables, "bytes",
     "table"},
    {"tier_capacity_bytes", kGauge, "bytes",
     "Capacity of a memory tier; +Inf if only the machine limits it.", kTiers, "capacity", "tier"},
    {"tier_used_bytes", kGauge, "bytes", "Bytes of a memory tier that are allocated.", kTiers,
     "used", "tier"},
    {"tier_high_water_bytes", kGauge, "bytes", "The largest number of allocated bytes so far.",
     kTiers, "high_water", "tier"},
    {"tier_refused_total", kCounter, "allocations", "Allocations that a full memory tier refused.",
     kTiers, "refused", "tier"},
    {"tier_overflow_capacity_bytes", kGauge, "bytes",
     "DRAM that rows may take once a memory tier is full; 0: they are refused.", kTiers,
     "overflow_capacity", "tier"},
    {"tier_overflow_used_bytes", kGauge, "bytes",
     "Bytes in DRAM that did not fit into a memory tier.", kTiers, "overflow_used", "tier"},
    {"tier_passes_on", kGauge, "",
     "1 if old rows move from a memory tier to another one, which also takes what does not fit.",
     kTiers, "passes_on", "tier"},
    {"connected", kGauge, "", "1 while connected to the tickerplant.", kStats, "connected"},
    {"live", kGauge, "", "1 if all messages of the log are applied and new ones arrive.", kStats,
     "live"},
    {"caught_up", kGauge, "",
     "1 if all messages of the log have been applied at least once since the start.", kStats,
     "caught_up"},
    {"incomplete", kGauge, "", "1 if today's tables lack rows of the log.", kStats, "incomplete"},
    {"applied_messages", kGauge, "messages", "Messages of today's log that are applied.", kStats,
     "seq"},
    {"messages_missing_total", kCounter, "messages",
     "Messages of a log that could not be read because it is damaged.", kStats, "messages_missing"},
    {"upds_refused_total", kCounter, "messages",
     "Messages that were damaged, or whose rows did not have their table's types.", kStats,
     "upds_refused"},
    {"upds_unknown_total", kCounter, "messages", "Messages for tables that do not exist.", kStats,
     "upds_unknown"},
    {"rows_refused_total", kCounter, "rows", "Rows that a full tier or table refused.", kStats,
     "rows_refused"},
    {"rows_moved_total", kCounter, "rows", "Rows that moved to the tier of older rows.", kStats,
     "rows_moved"},
    {"moves_refused_total", kCounter, "times",
     "Times that old rows could not move because the tier of older rows was full.", kStats,
     "moves_refused"},
    {"stale_seconds", kGauge, "seconds", "Time for which a table has lacked rows it refused.",
     kStale, "", "table", kMs},
    {"day_ends_total", kCounter, "days", "Days that ended.", kStats, "days_ended"},
    {"day_writes_total", kCounter, "days", "Days that were written to the database.", kStats,
     "days_written"},
    {"day_backlog", kGauge, "days",
     "Ended days in memory, because they are not written or the hdb does not know them yet.",
     kStats, "days_kept"},
    {"day_errors_total", kCounter, "attempts", "Failed attempts to write a day.", kStats,
     "day_errors"},
    {"day_blocked", kGauge, "date",
     "Day that is not written until an operator acts, such as 20200309; 0: none.", kStats,
     "day_blocked"},
    {"rows_reopened", kGauge, "rows", "Rows that a persistent tier had at the start.", kStats,
     "rows_reopened"},
    {"reopen_seconds",
     kGauge,
     "seconds",
     "Time that reopening a persistent tier took.",
     kStats,
     "reopen_us",
     {},
     kUs},
    {"reopens_damaged_total", kCounter, "times",
     "Times that a persistent tier was damaged, and filled again from the log.", kStats,
     "reopens_damaged"},
    {"rows_durable", kGauge, "rows", "Rows that a restart need not replay.", kStats,
     "rows_durable"},
    {"commits_total", kCounter, "commits", "Commits of a persistent tier.", kStats, "commits"},
    {"commits_refused_total", kCounter, "commits", "Commits of a persistent tier that failed.",
     kStats, "commits_refused"},
    {"commit_seconds_max",
     kGauge,
     "seconds",
     "Time of the slowest commit.",
     kStats,
     "commit_ns_max",
     {},
     kNs},
    {"symbols", kGauge, "symbols", "Distinct symbols.", kStats, "symbols"},
    {"bytes", kGauge, "bytes", "Memory of all tables.", kStats, "bytes"},
};
constexpr auto kMetrics = serve::WithQueries(kOwnMetrics, kStats);

Value TierFigures(const Placement& placement) {
  const auto long_of = [](size_t bytes) {
    return bytes == SIZE_MAX ? kInfinityLong : static_cast<int64_t>(bytes);
  };
  SymbolVector names;
  std::vector<int64_t> capacity, used, high_water, refused, holds_rows, overflow_capacity,
      overflow_used, passes_on;
  for (const mem::Tier* tier : placement.tiers()) {
    const mem::TierStats stats = tier->Stats();
    names.push_back(stats.name);
    capacity.push_back(long_of(stats.capacity_bytes));
    used.push_back(long_of(stats.used_bytes));
    high_water.push_back(long_of(stats.high_water_bytes));
    refused.push_back(long_of(stats.refused));
    holds_rows.push_back(placement.rules().HoldsRows(stats.name) ? 1 : 0);
    overflow_capacity.push_back(long_of(stats.overflow_capacity_bytes));
    overflow_used.push_back(long_of(stats.overflow_used_bytes));
    passes_on.push_back(placement.PassesOn(tier) ? 1 : 0);
  }
  const auto longs = [](const std::vector<int64_t>& values) {
    return Value::Vector(Type::kLong, std::span<const int64_t>(values));
  };
  return Value::Table({"tier", "capacity", "used", "high_water", "refused", "holds_rows",
                       "overflow_capacity", "overflow_used", "passes_on"},
                      {Value::Symbols(std::move(names)), longs(capacity), longs(used),
                       longs(high_water), longs(refused), longs(holds_rows),
                       longs(overflow_capacity), longs(overflow_used), longs(passes_on)});
}

Value TableFigures(const Rdb& rdb) {
  SymbolVector names;
  std::vector<int64_t> rows, bytes;
  for (const std::string& name : rdb.TableNames()) {
    const std::optional<Snapshot> snapshot = rdb.FindTable(name);
    if (!snapshot) continue;
    names.push_back(name);
    rows.push_back(static_cast<int64_t>(snapshot->rows()));
    bytes.push_back(static_cast<int64_t>(snapshot->table().bytes()));
  }
  return Value::Table(
      {"table", "rows", "bytes"},
      {Value::Symbols(std::move(names)), Value::Vector(Type::kLong, std::span<const int64_t>(rows)),
       Value::Vector(Type::kLong, std::span<const int64_t>(bytes))});
}

void AddSubscription(const serve::StatusFacts& facts, serve::Reasons& reasons) {
  if (facts.NumberOr0(kStats, "connected") == 0) {
    reasons.emplace_back("it is not connected to the tickerplant");
  } else if (facts.NumberOr0(kStats, "live") == 0 && facts.NumberOr0(kStats, "incomplete") == 0) {
    reasons.emplace_back("it is behind: rows of the log are still being read");
  }
}

void AddMissingRows(const serve::StatusFacts& facts, serve::Reasons& reasons) {
  if (facts.NumberOr0(kStats, "incomplete") != 0) {
    reasons.push_back(fmt::format(
        "today's tables lack rows: messages_missing={:.0f} rows_refused={:.0f} upds_refused={:.0f}",
        facts.NumberOr0(kStats, "messages_missing"), facts.NumberOr0(kStats, "rows_refused"),
        facts.NumberOr0(kStats, "upds_refused")));
  }
  const Value* const stale = facts.Find(kStale);
  if (stale == nullptr) return;
  for (const serve::NamedNumber& table : serve::NumbersIn(*stale)) {
    reasons.push_back(fmt::format("table {} has lacked rows that it refused for {}", table.name,
                                  MsText(table.number)));
  }
}

void AddTiers(const serve::StatusFacts& facts, int used_percent, serve::Reasons& reasons) {
  const Value* const tiers = facts.Find(kTiers);
  if (tiers == nullptr) return;
  const std::vector<serve::NamedNumber> used = serve::NumbersIn(*tiers, "tier", "used");
  const std::vector<serve::NamedNumber> capacity = serve::NumbersIn(*tiers, "tier", "capacity");
  const std::vector<serve::NamedNumber> holds_rows = serve::NumbersIn(*tiers, "tier", "holds_rows");
  const std::vector<serve::NamedNumber> passes_on = serve::NumbersIn(*tiers, "tier", "passes_on");
  for (size_t i = 0; i < used.size(); ++i) {
    const double percent = 100 * used[i].number / capacity[i].number;
    // Queries may fill a tier that has no rows, and a tier that passes rows on may be full.
    if (holds_rows[i].number == 0 || passes_on[i].number != 0 || !(percent > used_percent))
      continue;
    reasons.push_back(fmt::format("tier {} is {:.0f} % full: {} of {}, expected at most {} %",
                                  used[i].name, percent, BytesText(used[i].number),
                                  BytesText(capacity[i].number), used_percent));
  }
}

void AddOverflow(const serve::StatusFacts& facts, serve::Reasons& reasons) {
  const Value* const tiers = facts.Find(kTiers);
  if (tiers == nullptr) return;
  const auto used = serve::NumbersIn(*tiers, "tier", "overflow_used");
  const auto capacity = serve::NumbersIn(*tiers, "tier", "overflow_capacity");
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i].number == 0) continue;
    reasons.push_back(fmt::format("tier {} was full: {} in DRAM, its overflow has at most {}",
                                  used[i].name, BytesText(used[i].number),
                                  BytesText(capacity[i].number)));
  }
}

void AddDays(const serve::StatusFacts& facts, serve::Reasons& reasons) {
  const Value* const blocked = facts.Find(kBlocked);
  if (blocked != nullptr && blocked->is_string() && !blocked->text().empty()) {
    reasons.push_back(
        fmt::format("a day is not written until an operator acts: {}", blocked->text()));
  } else if (facts.NumberOr0(kStats, "days_kept") > 0 &&
             facts.NumberOr0(kStats, "day_errors") > 0) {
    reasons.push_back(fmt::format("ended days that are not written, or unknown to the hdb: {:.0f}",
                                  facts.NumberOr0(kStats, "days_kept")));
  }
}

std::vector<serve::WatchedDisk> DisksOf(const RdbMainOptions& options) {
  std::vector<serve::WatchedDisk> disks;
  if (options.end_of_day && options.replay.empty()) {
    const std::string& database = options.end_of_day->database;
    disks.push_back({"database", database.empty() ? options.data + "/hdb" : database});
  }
  for (const TierConfig& tier : options.tiers) {
    const std::string& name = tier.options.name;
    if (tier.options.path.empty() || !options.placement.Uses(name)) continue;
    disks.push_back({fmt::format("tier {}", name), tier.options.path, false});
  }
  return disks;
}

}  // namespace

std::span<const serve::Metric> Metrics() { return kMetrics; }

serve::StatusFacts FactsOf(const Rdb& rdb, RdbEnvironment& environment) {
  serve::StatusFacts facts;
  for (const std::string_view source : {kStats, kStale, kBlocked}) {
    std::optional<absl::StatusOr<Value>> answer = environment.Call(source, {});
    if (answer && answer->ok()) facts.answers.push_back({source, **std::move(answer)});
  }
  facts.answers.push_back({kTiers, TierFigures(rdb.placement())});
  facts.answers.push_back({kTables, TableFigures(rdb)});
  facts.durations.push_back({kLatency, "", rdb.LatencyBuckets()});
  facts.durations.push_back({serve::kQueryDurations, "", environment.queries().Durations()});
  return facts;
}

serve::Reasons ReasonsOf(const serve::StatusFacts& facts, const serve::HealthLimits& limits,
                         bool subscribes) {
  serve::Reasons reasons;
  if (subscribes) AddSubscription(facts, reasons);
  AddMissingRows(facts, reasons);
  AddTiers(facts, limits.tier_used_percent, reasons);
  AddOverflow(facts, reasons);
  AddDays(facts, reasons);
  return reasons;
}

serve::ProcessStatusOptions StatusOf(const RdbMainOptions& options, const Rdb& rdb,
                                     RdbEnvironment& environment,
                                     const std::atomic<int64_t>& ingest_ns) {
  const bool subscribes = options.replay.empty();
  return {
      .role = "rdb",
      .name = options.name,
      .metrics = Metrics(),
      .facts = [&rdb, &environment] { return FactsOf(rdb, environment); },
      .reasons =
          [subscribes](const serve::StatusFacts& facts, const serve::HealthLimits& limits) {
            return ReasonsOf(facts, limits, subscribes);
          },
      .silent_threads =
          [&ingest_ns] {
            const int64_t silent_ns = MonotonicNs() - ingest_ns.load(std::memory_order_relaxed);
            if (silent_ns <= kIngestSilentNsMax) return serve::Reasons();
            return serve::Reasons{fmt::format(
                "the event loop of the ingest thread has not responded for {}", NsText(silent_ns))};
          },
      .disks = DisksOf(options),
      .limits = options.health};
}

}  // namespace tickstack::rdb
