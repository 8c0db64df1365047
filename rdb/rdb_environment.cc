#include "rdb/rdb_environment.h"

#include <utility>
#include <vector>

#include "base/status.h"

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

Value Stats(const Rdb& rdb) {
  const RdbCounters& counters = rdb.counters();
  const auto load = [](const std::atomic<uint64_t>& counter) {
    return counter.load(std::memory_order_relaxed);
  };
  uint64_t bytes = 0;
  for (const std::string& name : rdb.TableNames()) {
    if (const std::optional<Snapshot> snapshot = rdb.FindTable(name)) {
      bytes += snapshot->table().bytes();
    }
  }
  return DictOf({
      {"connected", load(counters.connected)},
      {"live", load(counters.live)},
      {"seq", load(counters.seq)},
      {"messages", load(counters.messages)},
      {"rows", load(counters.rows)},
      {"messages_replayed", load(counters.messages_replayed)},
      {"rows_replayed", load(counters.rows_replayed)},
      {"rows_known", load(counters.rows_known)},
      {"upds_refused", load(counters.upds_refused)},
      {"rows_refused", load(counters.rows_refused)},
      {"upds_unknown", load(counters.upds_unknown)},
      {"messages_other", load(counters.messages_other)},
      {"messages_missing", load(counters.messages_missing)},
      {"days_ended", load(counters.days_ended)},
      {"starts_over", load(counters.starts_over)},
      {"symbols", static_cast<uint64_t>(rdb.symbols().size())},
      {"bytes", bytes},
  });
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
  const mem::TierStats stats = rdb.TierStats();
  const auto longs = [](int64_t value) { return Value::Longs({value}); };
  return Value::Table(
      {"tier", "kind", "capacity", "used", "high_water", "refused"},
      {Value::Symbols({stats.name}), Value::Symbols({stats.kind}),
       longs(LongOf(stats.capacity_bytes)), longs(LongOf(stats.used_bytes)),
       longs(LongOf(stats.high_water_bytes)), longs(static_cast<int64_t>(stats.refused))});
}

bool IsNothing(std::span<const Value> args) {
  return args.empty() || (args.size() == 1 && args[0].is_null());
}

}  // namespace

std::optional<absl::StatusOr<Value>> RdbEnvironment::Call(std::string_view name,
                                                          std::span<const Value> args) {
  if (name == ".rdb.latency" && args.size() == 1 && args[0].is_atom_of(Type::kSymbol) &&
      args[0].symbol() == "reset") {
    return Latency(*rdb_, true);
  }
  const bool ours = name == ".rdb.stats" || name == ".rdb.latency" || name == ".tier.stats";
  if (!ours) return std::nullopt;
  if (!IsNothing(args)) return InvalidArgument("type: {} does not take that", name);
  if (name == ".rdb.stats") return Stats(*rdb_);
  if (name == ".rdb.latency") return Latency(*rdb_, false);
  return TierStats(*rdb_);
}

}  // namespace tickstack::rdb
