#include "rdb/rdb_environment.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/time.h"
#include "rdb/checksum.h"
#include "wire/protocol.h"

namespace tickstack::rdb {
namespace {

using NamedLongs = std::vector<std::pair<std::string_view, uint64_t>>;

Value DictOf(const NamedLongs& longs) {
  SymbolVector names;
  ByteBuffer values;
  for (const auto& [name, value] : longs) {
    names.push_back(name);
    values.AppendLittle(static_cast<int64_t>(value));
  }
  return Value::Dict(Value::Symbols(std::move(names)),
                     Value::Vector(Type::kLong, std::move(values)));
}

uint64_t LongestStaleMs(const Rdb& rdb) {
  int64_t longest_ms = 0;
  for (const auto& [table, ms] : rdb.stale_ms()) longest_ms = std::max(longest_ms, ms);
  return static_cast<uint64_t>(longest_ms);
}

// Answers `.rdb.stale[]`: each table that lacks rows because it refused them, and for how long, in
// ms.
Value Stale(const Rdb& rdb) {
  const NameMap<int64_t> stale_ms = rdb.stale_ms();
  NamedLongs stale;
  for (const auto& [table, ms] : stale_ms) stale.emplace_back(table, static_cast<uint64_t>(ms));
  std::sort(stale.begin(), stale.end());
  return DictOf(stale);
}

Value Stats(const Rdb& rdb, const serve::QueryCounters& queries) {
  const RdbCounters& counters = rdb.counters();
  const auto load = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  const DurableCounters none;
  const DurableCounters& durable = rdb.durable() == nullptr ? none : rdb.durable()->counters();
  const mem::PersistentTierStats commits =
      rdb.durable() == nullptr ? mem::PersistentTierStats() : rdb.durable()->CommitStats();
  const std::optional<BlockedDay> blocked = rdb.blocked_day();
  uint64_t bytes = 0;
  for (const std::string& name : rdb.TableNames()) {
    if (const std::optional<Snapshot> snapshot = rdb.FindTable(name)) {
      bytes += snapshot->table().bytes();
    }
  }
  NamedLongs stats = {
      {"connected", load(counters.connected)},
      {"live", load(counters.incomplete) == 0 ? load(counters.live) : 0},
      {"caught_up", load(counters.caught_up)},
      {"incomplete", load(counters.incomplete)},
      {"stale_ms", LongestStaleMs(rdb)},
      {"seq", load(counters.seq)},
      {"messages", load(counters.messages)},
      {"rows", load(counters.rows)},
      {"messages_replayed", load(counters.messages_replayed)},
      {"rows_replayed", load(counters.rows_replayed)},
      {"rows_prestressed", load(counters.rows_prestressed)},
      {"rows_known", load(counters.rows_known)},
      {"upds_refused", load(counters.upds_refused)},
      {"rows_refused", load(counters.rows_refused)},
      {"rows_moved", load(counters.rows_moved)},
      {"moves_refused", load(counters.moves_refused)},
      {"upds_unknown", load(counters.upds_unknown)},
      {"messages_other", load(counters.messages_other)},
      {"messages_missing", load(counters.messages_missing)},
      {"days_ended", load(counters.days_ended)},
      {"days_kept", rdb.days_kept()},
      {"days_written", load(counters.days_written)},
      {"day_errors", load(counters.day_errors)},
      {"day_done", load(counters.day_done)},
      {"day_blocked", blocked ? NumberOfDate(blocked->date) : 0},
      {"starts_over", load(counters.starts_over)},
      {"rows_reopened", load(durable.rows_reopened)},
      {"reopen_us", load(durable.reopen_us)},
      {"reopens_damaged", load(durable.reopens_damaged)},
      {"rows_durable", load(durable.rows_durable)},
      {"commits", commits.commits},
      {"commits_refused", load(durable.commits_refused)},
      {"commit_ns_mean",
       static_cast<uint64_t>(commits.commit_ns) / std::max<uint64_t>(commits.commits, 1)},
      {"commit_ns_max", static_cast<uint64_t>(commits.commit_ns_max)},
      {"symbols", static_cast<uint64_t>(rdb.symbols().size())},
      {"bytes", bytes},
  };
  for (const auto& count : serve::NamedCounts(queries)) stats.push_back(count);
  return DictOf(stats);
}

Value Latency(Rdb& rdb, bool reset) {
  const Histogram latency = rdb.Latency(reset);
  const auto at = [&latency](double percentile) {
    return static_cast<uint64_t>(latency.ValueAtPercentile(percentile));
  };
  return DictOf({{"count", latency.Count()},
                 {"min", static_cast<uint64_t>(latency.Min())},
                 {"p50", at(50)},
                 {"p99", at(99)},
                 {"p999", at(99.9)},
                 {"max", static_cast<uint64_t>(latency.Max())}});
}

int64_t LongOf(size_t bytes) {
  return bytes > static_cast<size_t>(kInfinityLong) ? kInfinityLong : static_cast<int64_t>(bytes);
}

Value TierStats(const Rdb& rdb) {
  SymbolVector tier, kind, path, filesystem, nodes, model, figures;
  ByteBuffer capacity, used, high_water, refused, resident, dax, streaming, overflow_capacity,
      overflow_used, passes_on;
  for (const mem::Tier* each : rdb.placement().tiers()) {
    const mem::TierStats stats = each->Stats();
    tier.push_back(stats.name);
    kind.push_back(stats.kind);
    capacity.AppendLittle(LongOf(stats.capacity_bytes));
    used.AppendLittle(LongOf(stats.used_bytes));
    high_water.AppendLittle(LongOf(stats.high_water_bytes));
    refused.AppendLittle(LongOf(stats.refused));
    resident.AppendLittle(LongOf(each->ResidentBytes()));
    path.push_back(stats.path);
    filesystem.push_back(stats.filesystem);
    dax.AppendLittle(static_cast<uint8_t>(stats.dax));
    nodes.push_back(stats.nodes);
    streaming.AppendLittle(static_cast<uint8_t>(stats.streaming));
    model.push_back(stats.model);
    figures.push_back(stats.figures);
    overflow_capacity.AppendLittle(LongOf(stats.overflow_capacity_bytes));
    overflow_used.AppendLittle(LongOf(stats.overflow_used_bytes));
    passes_on.AppendLittle(int64_t{rdb.placement().PassesOn(each) ? 1 : 0});
  }
  const auto symbols = [](SymbolVector& names) { return Value::Symbols(std::move(names)); };
  const auto longs = [](ByteBuffer& bytes) { return Value::Vector(Type::kLong, std::move(bytes)); };
  const auto flags = [](ByteBuffer& bytes) {
    return Value::Vector(Type::kBoolean, std::move(bytes));
  };
  return Value::Table(
      {"tier", "kind", "capacity", "used", "high_water", "refused", "resident", "path",
       "filesystem", "dax", "nodes", "streaming", "model", "figures", "overflow_capacity",
       "overflow_used", "passes_on"},
      {symbols(tier), symbols(kind), longs(capacity), longs(used), longs(high_water),
       longs(refused), longs(resident), symbols(path), symbols(filesystem), flags(dax),
       symbols(nodes), flags(streaming), symbols(model), symbols(figures), longs(overflow_capacity),
       longs(overflow_used), longs(passes_on)});
}

// Calls visit(part, tier, bytes, is_older) for each column of a table, and for its index if it has
// one. A column with rows in the tier of older rows is visited for that tier as well.
template <typename Visit>
void EachPart(const Table& table, const PlacementRules& rules, Visit visit) {
  const Schema& schema = table.schema();
  for (size_t i = 0; i < schema.columns.size(); ++i) {
    const std::string& column = schema.columns[i].name;
    const size_t older = table.older_bytes(i);
    visit(column, rules.TierOfColumn(schema.table, column), table.column_bytes(i) - older,
          /*is_older=*/false);
    if (older > 0) visit(column, rules.age()->tier, older, /*is_older=*/true);
  }
  if (table.has_index()) {
    visit("index", rules.TierOfIndex(schema.table), table.index_bytes(), /*is_older=*/false);
  }
}

Value TiersOfAll(const Rdb& rdb) {
  SymbolVector tables, columns, tiers;
  ByteBuffer bytes;
  for (const std::string& name : rdb.TableNames()) {
    const std::optional<Snapshot> snapshot = rdb.FindTable(name);
    if (!snapshot) continue;
    EachPart(snapshot->table(), rdb.placement().rules(),
             [&](std::string_view column, std::string_view tier, size_t taken, bool) {
               tables.push_back(name);
               columns.push_back(column);
               tiers.push_back(tier);
               bytes.AppendLittle(LongOf(taken));
             });
  }
  return Value::Table(
      {"table", "column", "tier", "bytes"},
      {Value::Symbols(std::move(tables)), Value::Symbols(std::move(columns)),
       Value::Symbols(std::move(tiers)), Value::Vector(Type::kLong, std::move(bytes))});
}

absl::StatusOr<Value> TiersOf(const Rdb& rdb, std::string_view table) {
  const std::optional<Snapshot> snapshot = rdb.FindTable(table);
  if (!snapshot) return NotFound("{}: no table has this name", table);
  SymbolVector columns, tiers;
  EachPart(snapshot->table(), rdb.placement().rules(),
           [&](std::string_view column, std::string_view tier, size_t, bool is_older) {
             if (is_older) return;
             columns.push_back(column);
             tiers.push_back(tier);
           });
  return Value::Dict(Value::Symbols(std::move(columns)), Value::Symbols(std::move(tiers)));
}

absl::StatusOr<Value> ChecksumOf(const Rdb& rdb, std::span<const Value> args) {
  const bool right = (args.size() == 1 || args.size() == 2) && args[0].is_atom_of(Type::kSymbol) &&
                     (args.size() == 1 || args[1].is_atom_of(Type::kLong));
  const int64_t first = right && args.size() == 2 ? args[1].as<int64_t>() : 0;
  if (!right || first < 0) {
    return InvalidArgument("type: .rdb.checksum[table;first] takes a symbol and a long from 0");
  }
  const std::optional<Snapshot> snapshot = rdb.FindTable(args[0].symbol());
  if (!snapshot) return NotFound("{}: no table has this name", args[0].symbol());
  TS_ASSIGN_OR_RETURN(const uint64_t sum, Checksum(*snapshot, static_cast<size_t>(first), "time"));
  return Value::Long(static_cast<int64_t>(sum));
}

bool IsNothing(std::span<const Value> args) {
  return args.empty() || (args.size() == 1 && args[0].is_null());
}

// Finds a table, or as TABLE@DATE its rows of one day.
std::optional<Snapshot> FindIn(const TablesOfRdb& tables, std::string_view name) {
  const size_t at = name.rfind(query::kOfDay);
  if (at == std::string_view::npos) return tables.Find(name);
  const std::optional<int32_t> date = ParseDate(name.substr(at + 1));
  return date ? tables.FindOfDay(name.substr(0, at), *date) : std::nullopt;
}

}  // namespace

// The environment of one request. Otherwise a request that names two tables while a day is handed
// over to the hdb could combine the rows of one before that with those of the other after it.
class RdbEnvironment::OfRequest final : public query::Environment {
 public:
  explicit OfRequest(RdbEnvironment& process) : process_(process) {}

  std::optional<Snapshot> FindTable(std::string_view name) override {
    return FindIn(tables(), name);
  }
  std::vector<std::string> TableNames() override { return tables().Names(); }
  int64_t NowNs() override { return process_.NowNs(); }
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override {
    return process_.Call(name, args);
  }
  bool Changes(std::string_view name, std::span<const Value> args) override {
    return process_.Changes(name, args);
  }
  std::vector<std::string> FunctionNames() override { return process_.FunctionNames(); }
  query::ProcessFacts Facts() override { return process_.Facts(); }

 private:
  // Many requests need no table.
  const TablesOfRdb& tables() {
    if (tables_ == nullptr) tables_ = process_.rdb_->tables();
    return *tables_;
  }

  RdbEnvironment& process_;
  std::shared_ptr<const TablesOfRdb> tables_;
};

std::unique_ptr<query::Environment> RdbEnvironment::ForRequest() {
  return std::make_unique<OfRequest>(*this);
}

std::optional<Snapshot> RdbEnvironment::FindTable(std::string_view name) {
  return FindIn(*rdb_->tables(), name);
}

std::vector<std::string> RdbEnvironment::FunctionNames() {
  return {".rdb.stats",  ".rdb.stale",   ".rdb.blocked",
          ".rdb.days",   ".rdb.latency", ".rdb.checksum",
          ".tier.stats", ".tier.of",     std::string(wire::protocol::kShard)};
}

// `.rdb.latency[`reset]` starts counting again, for all who look at it.
bool RdbEnvironment::Changes(std::string_view name, std::span<const Value> args) {
  constexpr std::array<std::string_view, 8> kRead = {
      ".rdb.stats",    ".rdb.stale",  ".rdb.blocked", ".rdb.days",
      ".rdb.checksum", ".tier.stats", ".tier.of",     wire::protocol::kShard};
  if (name == ".rdb.latency") return !IsNothing(args);
  const std::vector<std::string> names = FunctionNames();
  return std::ranges::find(names, name) != names.end() &&
         std::ranges::find(kRead, name) == kRead.end();
}

std::optional<absl::StatusOr<Value>> RdbEnvironment::Call(std::string_view name,
                                                          std::span<const Value> args) {
  if (name == ".rdb.latency" && args.size() == 1 && args[0].is_atom_of(Type::kSymbol) &&
      args[0].symbol() == "reset") {
    return Latency(*rdb_, true);
  }
  if (name == ".tier.of" && args.size() == 1 && args[0].is_atom_of(Type::kSymbol)) {
    return TiersOf(*rdb_, args[0].symbol());
  }
  if (name == ".rdb.checksum") return ChecksumOf(*rdb_, args);
  const bool ours = name == ".rdb.stats" || name == ".rdb.stale" || name == ".rdb.blocked" ||
                    name == ".rdb.days" || name == ".rdb.latency" || name == ".tier.stats" ||
                    name == ".tier.of" || name == wire::protocol::kShard;
  if (!ours) return std::nullopt;
  if (!IsNothing(args)) return InvalidArgument("type: {} does not take that", name);
  if (name == ".rdb.stats") return Stats(*rdb_, queries_);
  if (name == ".rdb.stale") return Stale(*rdb_);
  if (name == wire::protocol::kShard) return AnswerOf(shard_);
  if (name == ".rdb.days") {
    const std::vector<int32_t> days = rdb_->Days();
    return Value::Vector(Type::kDate, std::span<const int32_t>(days));
  }
  if (name == ".rdb.latency") return Latency(*rdb_, false);
  if (name == ".rdb.blocked") {
    const std::optional<BlockedDay> day = rdb_->blocked_day();
    return Value::String(day ? day->why : "");
  }
  return name == ".tier.of" ? TiersOfAll(*rdb_) : TierStats(*rdb_);
}

}  // namespace tickstack::rdb
