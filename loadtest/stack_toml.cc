#include "loadtest/stack_toml.h"

#include <toml++/toml.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "base/config.h"
#include "base/status.h"
#include "feed/sources/sim_market.h"

namespace tickstack::loadtest {
namespace {

using Kind = Placement::Kind;

constexpr size_t kAsofRank = 9;  // The tenth busiest symbol.
constexpr const char* kTier = "second";
constexpr const char* kDram = "dram";  // The tier that always exists.
// The tables of the aggregation engine's default bars.
constexpr const char* kBars[] = {"trade_minute", "trade_daily", "quote_minute", "quote_daily"};

absl::StatusOr<toml::table> ParseFile(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return NotFound("{}: no such file", path);
  try {
    return toml::parse_file(path);
  } catch (const toml::parse_error& error) {
    return InvalidArgument("{}:{}: {}", path, error.source().begin.line, error.description());
  }
}

// Returns `[rdb]` or `[[rdb]]` as an array of tables, and converts it in `root`.
toml::array& RdbsOf(toml::table& root) {
  if (toml::table* const one = root["rdb"].as_table()) {
    toml::array all;
    all.push_back(std::move(*one));
    root.insert_or_assign("rdb", std::move(all));
  }
  if (!root["rdb"].is_array()) root.insert_or_assign("rdb", toml::array());
  return *root["rdb"].as_array();
}

std::optional<uint64_t> SizeOf(const toml::table& tier) {
  if (const auto number = tier["size"].value<int64_t>()) return static_cast<uint64_t>(*number);
  if (const auto text = tier["size"].value<std::string>()) return ParseBytes(*text);
  return std::nullopt;
}

// With a placement that moves old rows, only the tier to which they move limits the rows.
void TakeSizes(const toml::table& root, StackFile& file) {
  const toml::table* const tiers = root["tier"].as_table();
  if (tiers == nullptr) return;
  const std::string older = root["placement"]["then"].value_or(std::string());
  for (const auto& [name, node] : *tiers) {
    if (!older.empty() && name.str() != older) continue;
    const toml::table* const tier = node.as_table();
    const std::optional<uint64_t> size = tier == nullptr ? std::nullopt : SizeOf(*tier);
    if (!size) continue;
    file.smallest_tier_bytes =
        file.smallest_tier_bytes == 0 ? *size : std::min(file.smallest_tier_bytes, *size);
  }
}

toml::table FeedTable(const Profile& profile) {
  toml::table feed{{"name", "feed"},
                   {"source", "sim"},
                   {"seconds", profile.seconds},
                   {"symbols", profile.symbols},
                   {"quotes_per_trade", profile.quotes_per_trade},
                   {"seed", static_cast<int64_t>(profile.seed)}};
  if (profile.phases.empty()) {
    feed.insert("rate", profile.rate);
  } else {
    toml::array phases;
    for (const feed::PacePhase& phase : profile.phases) {
      phases.push_back(toml::table{{"seconds", phase.seconds}, {"rate", phase.rate}});
    }
    feed.insert("phase", std::move(phases));
  }
  return feed;
}

toml::table PrestressTable(const StackSettings& settings) {
  return toml::table{{"quotes", settings.prestress.quotes},
                     {"trades", settings.prestress.trades},
                     {"symbols", settings.profile.symbols},
                     {"seed", static_cast<int64_t>(settings.profile.seed)}};
}

toml::table MonitorTable(const std::string& rdb, const StackSettings& settings) {
  toml::table monitor{{"name", "monitor-" + rdb},
                      {"rdb", rdb},
                      {"feed", ""},
                      {"query_ms", settings.query_ms},
                      {"spread_ms", std::min(settings.query_ms, settings.batch_ms)},
                      {"symbol", AsofSymbol(settings.profile)},
                      {"progress_s", 0}};
  if (!settings.queries_file.empty()) {
    monitor.insert("queries", settings.queries_file);
    monitor.insert("symbols", settings.symbols_file);
    monitor.insert("queries_wait", true);
  }
  return monitor;
}

// Returns the tier of an rdb whose placement names it; nullopt: DRAM.
std::optional<toml::table> TierTable(const Placement& placement, const StackSettings& settings) {
  const auto bytes = static_cast<int64_t>(TierBytes(settings.prestress, settings.profile));
  switch (placement.kind) {
    case Kind::kFilesystem:
      return toml::table{{"kind", "filesystem"}, {"path", settings.tier_path}, {"size", bytes}};
    case Kind::kPersistent:
      return toml::table{{"kind", "persistent"}, {"path", settings.tier_path}, {"size", bytes}};
    case Kind::kSimulate:
      return toml::table{{"kind", "simulate"},
                         {"model", placement.model},
                         {"path", settings.tier_path},
                         {"size", bytes}};
    case Kind::kNuma:
      return toml::table{{"kind", "numa"}, {"nodes", toml::array{placement.node}}, {"size", bytes}};
    case Kind::kDram:
    case Kind::kHybrid:
    case Kind::kFile:
      break;
  }
  return std::nullopt;
}

// The tiers of an rdb whose placement names them, and whether there are any besides DRAM.
struct RdbTiers {
  toml::table tiers;
  bool has_second = false;
};
RdbTiers TiersOf(const Placement& placement, const StackSettings& settings) {
  RdbTiers made;
  std::optional<toml::table> second = TierTable(placement, settings);
  made.has_second = second.has_value();
  toml::table& rows = second ? *second : second.emplace();
  if (settings.rdb_touch_bytes > 0) {
    rows.insert("touch_first", static_cast<int64_t>(settings.rdb_touch_bytes));
  }
  if (!rows.empty()) made.tiers.insert(made.has_second ? kTier : kDram, std::move(rows));
  return made;
}

// Keeps what a file says about tiers: of the whole stack, or else of its first rdb.
toml::table OnlyTiers(toml::table file) {
  toml::table tiers;
  const auto take = [&tiers](toml::table& from) {
    for (const char* key : {"tier", "placement"}) {
      if (toml::table* const found = from[key].as_table(); found && !tiers.contains(key)) {
        tiers.insert(key, std::move(*found));
      }
    }
  };
  take(file);
  toml::array& rdbs = RdbsOf(file);
  if (!rdbs.empty() && rdbs[0].is_table()) take(*rdbs[0].as_table());
  return tiers;
}

absl::StatusOr<toml::table> RootOf(const Placement& placement) {
  if (placement.kind != Kind::kHybrid && placement.kind != Kind::kFile) return toml::table();
  TS_ASSIGN_OR_RETURN(toml::table file, ParseFile(placement.path));
  if (placement.kind == Kind::kHybrid) return OnlyTiers(std::move(file));
  for (const char* key : {"eod", "hdb", "feed", "monitor"}) file.erase(key);
  return file;
}

// Returns a bound on a batch's bytes: several publish intervals' worth, to leave room for bursts.
int64_t BytesOfABatch(const StackSettings& settings) {
  constexpr double kRowBytes = 256, kLeast = 1 << 20, kMost = 256 << 20;
  return static_cast<int64_t>(std::clamp(
      settings.profile.UpdatesPerSecond() * settings.batch_ms / 1e3 * kRowBytes, kLeast, kMost));
}

bool HasSimulatedTier(const toml::table* tiers) {
  return tiers != nullptr && std::any_of(tiers->begin(), tiers->end(), [](const auto& entry) {
           const toml::table* const tier = entry.second.as_table();
           return tier != nullptr && (*tier)["kind"].value_or(std::string()) == "simulate";
         });
}

toml::table& TableIn(toml::table& root, std::string_view key) {
  if (!root[key].is_table()) root.insert_or_assign(key, toml::table());
  return *root[key].as_table();
}

}  // namespace

std::string AsofSymbol(const Profile& profile) {
  const feed::SimMarket market(profile.symbols, profile.seed);
  return std::string(market.name(std::min(kAsofRank, market.symbols() - 1)));
}

std::string SymbolWeights(const Profile& profile) {
  const feed::SimMarket market(profile.symbols, profile.seed);
  std::string lines;
  for (size_t i = 0; i < market.symbols(); ++i) {
    lines += fmt::format("{},{:.9g}\n", market.name(i), feed::ActivityOf(i));
  }
  return lines;
}

absl::StatusOr<StackFile> ReadStackFile(const std::string& path) {
  TS_ASSIGN_OR_RETURN(toml::table root, ParseFile(path));
  StackFile file;
  TakeSizes(root, file);
  for (toml::node& rdb : RdbsOf(root)) {
    ++file.rdbs;
    if (toml::table* const table = rdb.as_table()) TakeSizes(*table, file);
  }
  return file;
}

absl::StatusOr<StackToml> MakeStackToml(const Placement& placement, const StackSettings& settings) {
  TS_ASSIGN_OR_RETURN(toml::table root, RootOf(placement));
  StackToml made;
  made.has_bars = placement.kind != Kind::kFile || root.contains("aggengine");
  toml::table& stack = TableIn(root, "stack");
  stack.insert_or_assign("name", settings.name);
  stack.insert_or_assign("log_level", "info");
  stack.insert_or_assign("restart", false);
  stack.erase("date");
  toml::table& tickerplant = TableIn(root, "tickerplant");
  tickerplant.insert_or_assign("batch_ms", settings.batch_ms);
  tickerplant.insert_or_assign("batch_phase_ms", settings.batch_phase_ms);
  if (settings.whole_batches) tickerplant.insert_or_assign("batch_bytes", BytesOfABatch(settings));
  if (made.has_bars) {
    toml::table& aggengine = TableIn(root, "aggengine");
    if (settings.aggengine_touch_bytes > 0 && placement.kind != Kind::kFile) {
      const auto bytes = static_cast<int64_t>(settings.aggengine_touch_bytes);
      aggengine.insert_or_assign("tier", toml::table{{kDram, toml::table{{"touch_first", bytes}}}});
    }
  }

  toml::array& rdbs = RdbsOf(root);
  if (placement.kind != Kind::kFile) {
    for (int i = 1; i <= placement.rdbs; ++i) {
      toml::table rdb{{"name", fmt::format("rdb-{}", i)}};
      RdbTiers tiers = TiersOf(placement, settings);
      if (!tiers.tiers.empty()) rdb.insert("tier", std::move(tiers.tiers));
      if (tiers.has_second) {
        toml::table rules{{"default", kTier}};
        // A persistent tier takes no keyed tables; those of bars are small.
        if (placement.kind == Kind::kPersistent) {
          for (const char* bars : kBars) rules.insert(bars, kDram);
        }
        rdb.insert("placement", std::move(rules));
      }
      rdbs.push_back(std::move(rdb));
    }
  }
  made.simulated = HasSimulatedTier(root["tier"].as_table());
  toml::array monitors;
  for (toml::node& node : rdbs) {
    toml::table* const rdb = node.as_table();
    if (rdb == nullptr) return InvalidArgument("{}: rdb: expected a table", placement.path);
    made.simulated = made.simulated || HasSimulatedTier((*rdb)["tier"].as_table());
    rdb->erase("replay");
    if (settings.prestress != RowCounts())
      rdb->insert_or_assign("prestress", PrestressTable(settings));
    const std::string name = (*rdb)["name"].value_or(std::string("rdb"));
    made.rdbs.push_back(name);
    monitors.push_back(MonitorTable(name, settings));
  }
  if (made.rdbs.empty())
    return InvalidArgument("{}: expected an [[rdb]], found none", placement.path);
  root.insert_or_assign("monitor", std::move(monitors));
  root.insert_or_assign("feed", FeedTable(settings.profile));
  std::ostringstream text;
  text << root << '\n';
  made.text = text.str();
  return made;
}

}  // namespace tickstack::loadtest
