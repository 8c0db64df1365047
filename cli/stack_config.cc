#include "cli/stack_config.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/config.h"
#include "base/status.h"
#include "base/string_map.h"
#include "base/time.h"
#include "cli/bars_config.h"
#include "cli/eod_config.h"
#include "cli/prestress_config.h"
#include "cli/read_word.h"
#include "cli/tier_config.h"
#include "monitor/query_set.h"
#include "table/keyed_table.h"
#include "wire/http_question.h"

namespace tickstack {
namespace {

constexpr std::array kFsyncWords = {
    std::pair<std::string_view, wire::FsyncPolicy>{"none", wire::FsyncPolicy::kNone},
    std::pair<std::string_view, wire::FsyncPolicy>{"interval", wire::FsyncPolicy::kInterval},
    std::pair<std::string_view, wire::FsyncPolicy>{"batch", wire::FsyncPolicy::kBatch},
};

// Reads a number that must not be negative.
absl::Status ReadFromZero(const ConfigTable& table, std::string_view key, double* target) {
  TS_RETURN_IF_ERROR(table.Read(key, target));
  if (*target >= 0) return absl::OkStatus();
  return table.ErrorAt(key, fmt::format("expected a number from 0 on, found {}", *target));
}

// Reads a name, which becomes part of file names.
absl::Status ReadName(const ConfigTable& table, std::string* name) {
  TS_RETURN_IF_ERROR(table.Read("name", name));
  const bool plain = std::all_of(name->begin(), name->end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
  if (plain && !name->empty() && name->front() != '.') return absl::OkStatus();
  return table.ErrorAt("name",
                       fmt::format("expected letters, digits, -, _ and ., found \"{}\"", *name));
}

absl::Status ReadListener(const ConfigTable& table, wire::ListenerOptions& listener) {
  TS_RETURN_IF_ERROR(table.Read("host", &listener.host));
  TS_RETURN_IF_ERROR(table.Read("port", &listener.port, 0, 65535));
  if (table.Has("http")) TS_RETURN_IF_ERROR(table.Read("http", &listener.http.emplace()));
  TS_RETURN_IF_ERROR(table.Read("http_origins", &listener.http_origins));
  for (const std::string& origin : listener.http_origins) {
    const absl::Status valid = wire::CheckOrigin(origin);
    if (!valid.ok()) return table.ErrorAt("http_origins", Message(valid));
  }
  if (!listener.http_origins.empty() && !wire::AnswersHttp(listener)) {
    return table.ErrorAt("http_origins",
                         "needs http = true, which is not the default beyond loopback");
  }
  return table.Read("unix_socket", &listener.unix_socket);
}

absl::Status ReadStack(const ConfigTable& table, StackConfig& config) {
  constexpr std::array kLevels = {
      std::pair<std::string_view, LogLevel>{"debug", LogLevel::kDebug},
      std::pair<std::string_view, LogLevel>{"info", LogLevel::kInfo},
      std::pair<std::string_view, LogLevel>{"warn", LogLevel::kWarn},
      std::pair<std::string_view, LogLevel>{"error", LogLevel::kError},
  };
  TS_RETURN_IF_ERROR(ReadName(table, &config.name));
  TS_RETURN_IF_ERROR(table.Read("data", &config.data));
  TS_RETURN_IF_ERROR(ReadWord(table, "log_level", kLevels, &config.log_level));
  return table.Read("restart", &config.restart);
}

absl::StatusOr<std::vector<Schema>> ReadSchemas(const ConfigTable& root) {
  if (!root.Has("tables")) return DefaultSchemas();
  TS_ASSIGN_OR_RETURN(const ConfigTable tables, root.Table("tables"));
  std::vector<Schema> schemas;
  for (const std::string& name : tables.Keys()) {
    std::string columns;
    TS_RETURN_IF_ERROR(tables.Read(name, &columns));
    absl::StatusOr<Schema> schema = ParseSchema(name, columns);
    if (!schema.ok()) return tables.ErrorAt(name, Message(schema.status()));
    if (const absl::Status keyed = CheckKeyedSchema(*schema); !keyed.ok()) {
      return tables.ErrorAt(name, Message(keyed));
    }
    schemas.push_back(*std::move(schema));
  }
  if (schemas.empty()) return root.ErrorAt("tables", "expected at least one table");
  return schemas;
}

absl::Status ReadTickerplant(const ConfigTable& table, StackConfig& config) {
  tickerplant::TickerplantMainOptions options;
  options.schemas = config.schemas;
  options.listener.port = 5010;
  TS_RETURN_IF_ERROR(ReadName(table, &options.name));
  TS_RETURN_IF_ERROR(ReadListener(table, options.listener));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "batch_ms", &options.batch_ms));
  if (table.Has("batch_phase_ms")) {
    TS_RETURN_IF_ERROR(ReadFromZero(table, "batch_phase_ms", &options.batch_phase_ms.emplace(0)));
  }
  TS_RETURN_IF_ERROR(table.ReadBytes("batch_bytes", &options.batch_bytes));
  if (config.aggengine) {
    for (const aggengine::BarSpec& bars : config.aggengine->bars) {
      options.at_once.push_back(bars.name);
    }
  }
  TS_RETURN_IF_ERROR(table.Read("at_once", &options.at_once));
  for (const std::string& name : options.at_once) {
    const bool known = std::any_of(config.schemas.begin(), config.schemas.end(),
                                   [&name](const Schema& schema) { return schema.table == name; });
    if (!known) return table.ErrorAt("at_once", fmt::format("no table \"{}\"", name));
  }
  TS_RETURN_IF_ERROR(table.Read("log_name", &options.log_name));
  TS_RETURN_IF_ERROR(ReadWord(table, "fsync", kFsyncWords, &options.fsync));
  TS_RETURN_IF_ERROR(table.Read("fsync_interval_ms", &options.fsync_interval_ms, 1, 3'600'000));
  TS_RETURN_IF_ERROR(table.ReadBytes("log_cache", &options.log_cache_bytes));
  TS_RETURN_IF_ERROR(table.Read("time_zone", &options.time_zone));
  TS_RETURN_IF_ERROR(table.ReadDuration("roll_offset", &options.roll_offset_ns));
  TS_RETURN_IF_ERROR(table.ReadBytes("max_queue_bytes", &options.max_queue_bytes));
  TS_RETURN_IF_ERROR(table.ReadBytes("max_message_bytes", &options.max_message_bytes));
  TS_RETURN_IF_ERROR(
      table.Read("max_connections", &options.max_connections, size_t{1}, size_t{1'000'000}));
  TS_RETURN_IF_ERROR(table.Read("busy_poll", &options.busy_poll));
  config.tickerplant = std::move(options);
  return absl::OkStatus();
}

absl::Status ReadQueries(const ConfigTable& table, serve::QuerySettings& options) {
  TS_RETURN_IF_ERROR(table.Read("query_threads", &options.query_threads, 1, 256));
  TS_RETURN_IF_ERROR(table.Read("query_helpers", &options.query_helpers, 0, 1024));
  TS_RETURN_IF_ERROR(table.Read("query_nice", &options.query_nice, 0, 19));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "query_timeout_s", &options.query_timeout_s));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "query_slow_ms", &options.query_slow_ms));
  TS_RETURN_IF_ERROR(table.ReadBytes("query_max_bytes", &options.query_max_bytes));
  TS_RETURN_IF_ERROR(table.ReadBytes("query_unread_bytes", &options.query_unread_bytes));
  return ReadFromZero(table, "query_unread_timeout_s", &options.query_unread_timeout_s);
}

absl::Status ReadAggEngine(const ConfigTable& root, const ConfigTable& table, StackConfig& config) {
  aggengine::AggEngineMainOptions& options = *config.aggengine;
  if (config.tickerplant) options.tickerplant = config.tickerplant->name;
  TS_RETURN_IF_ERROR(ReadName(table, &options.name));
  TS_RETURN_IF_ERROR(ReadListener(table, options.listener));
  TS_RETURN_IF_ERROR(table.Read("tickerplant", &options.tickerplant));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "publish_ms", &options.publish_ms));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "publish_gap_ms", &options.publish_gap_ms));
  TS_RETURN_IF_ERROR(table.Read("read_log_file", &options.read_log_file));
  TS_RETURN_IF_ERROR(table.ReadBytes("history_bytes", &options.history_bytes));
  TS_RETURN_IF_ERROR(table.ReadBytes("max_message_bytes", &options.max_message_bytes));
  TS_RETURN_IF_ERROR(table.Read("busy_poll", &options.busy_poll));
  return ReadStateTier(root, table, options.state, config.warnings);
}

// Unless they name another one, RDBs and feeds connect to the file's tickerplant, and monitors to
// its first RDB and feed.
absl::Status ReadRdb(const ConfigTable& root, const ConfigTable& table, StackConfig& config) {
  rdb::RdbMainOptions options;
  options.listener.port = 5011;
  if (config.tickerplant) options.tickerplant = config.tickerplant->name;
  TS_RETURN_IF_ERROR(ReadName(table, &options.name));
  TS_RETURN_IF_ERROR(ReadListener(table, options.listener));
  TS_RETURN_IF_ERROR(table.Read("tickerplant", &options.tickerplant));
  TS_RETURN_IF_ERROR(table.Read("replay", &options.replay));
  options.replay_schemas = config.schemas;
  TS_RETURN_IF_ERROR(table.Read("read_log_file", &options.read_log_file));
  TS_RETURN_IF_ERROR(ReadQueries(table, options));
  TS_RETURN_IF_ERROR(table.ReadBytes("max_message_bytes", &options.max_message_bytes));
  TS_RETURN_IF_ERROR(table.Read("busy_poll", &options.busy_poll));
  TS_RETURN_IF_ERROR(table.Read("numa_node", &options.numa_node, 0, kNumaNodeMax));
  const std::vector<Schema>* schemas = KnowsTables(config, options) ? &config.schemas : nullptr;
  TS_RETURN_IF_ERROR(ReadTiers(root, table, schemas, options, config.warnings));
  TS_RETURN_IF_ERROR(ReadPrestress(table, schemas, options));
  config.rdbs.push_back(std::move(options));
  return absl::OkStatus();
}

absl::Status ReadSource(const ConfigTable& table, feed::SourceOptions& source) {
  constexpr std::array kKinds = {
      std::pair<std::string_view, std::string_view>{"sim", "sim"},
      std::pair<std::string_view, std::string_view>{"lean", "lean"},
      std::pair<std::string_view, std::string_view>{"tplog", "tplog"},
  };
  TS_RETURN_IF_ERROR(ReadWord(table, "source", kKinds, &source.kind));
  TS_RETURN_IF_ERROR(table.Read("batch_rows", &source.batch_rows, int64_t{1}, int64_t{1'000'000}));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "speed", &source.speed));
  TS_RETURN_IF_ERROR(table.Read("profile", &source.profile));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "rate", &source.rate));
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> phases, table.Tables("phase"));
  for (const ConfigTable& phase : phases) {
    feed::PacePhase& read = source.phases.emplace_back();
    TS_RETURN_IF_ERROR(ReadFromZero(phase, "seconds", &read.seconds));
    TS_RETURN_IF_ERROR(ReadFromZero(phase, "rate", &read.rate));
  }
  TS_RETURN_IF_ERROR(
      table.Read("quotes_per_trade", &source.quotes_per_trade, int64_t{1}, int64_t{1'000}));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "seconds", &source.seconds));
  TS_RETURN_IF_ERROR(table.Read("rows", &source.rows, int64_t{0}));
  TS_RETURN_IF_ERROR(table.Read("seed", &source.seed));
  TS_RETURN_IF_ERROR(table.Read("path", &source.path));
  return source.kind == "lean"
             ? table.Read("symbols", &source.lean_symbols)
             : table.Read("symbols", &source.symbols, int64_t{1}, int64_t{65'536});
}

absl::Status ReadFeed(const ConfigTable& table, StackConfig& config) {
  feed::FeedOptions options;
  if (config.tickerplant) options.tickerplant = config.tickerplant->name;
  TS_RETURN_IF_ERROR(ReadName(table, &options.name));
  TS_RETURN_IF_ERROR(ReadListener(table, options.listener));
  TS_RETURN_IF_ERROR(table.Read("tickerplant", &options.tickerplant));
  TS_RETURN_IF_ERROR(ReadSource(table, options.source));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "batch_ms", &options.batch_ms));
  TS_RETURN_IF_ERROR(table.ReadBytes("queue_bytes", &options.queue_bytes));
  TS_RETURN_IF_ERROR(table.Read("busy_poll", &options.busy_poll));
  TS_RETURN_IF_ERROR(table.Read("start", &options.start));
  TS_RETURN_IF_ERROR(table.Read("exit_when_done", &options.exit_when_done));
  config.feeds.push_back(std::move(options));
  return absl::OkStatus();
}

absl::Status ReadHdb(const ConfigTable& table, StackConfig& config) {
  hdb::HdbMainOptions options;
  options.listener.port = 5012;
  TS_RETURN_IF_ERROR(ReadName(table, &options.name));
  TS_RETURN_IF_ERROR(ReadListener(table, options.listener));
  TS_RETURN_IF_ERROR(table.Read("database", &options.database));
  TS_RETURN_IF_ERROR(table.ReadBytes("cache", &options.cache_bytes));
  TS_RETURN_IF_ERROR(ReadQueries(table, options));
  config.hdb = std::move(options);
  return absl::OkStatus();
}

absl::Status ReadMonitor(const ConfigTable& table, StackConfig& config) {
  monitor::MonitorOptions options;
  if (!config.rdbs.empty()) options.rdb = config.rdbs.front().name;
  if (!config.feeds.empty()) options.feed = config.feeds.front().name;
  if (config.aggengine) options.bars = DailyBars(config.aggengine->bars);
  TS_RETURN_IF_ERROR(ReadName(table, &options.name));
  TS_RETURN_IF_ERROR(ReadListener(table, options.listener));
  TS_RETURN_IF_ERROR(table.Read("rdb", &options.rdb));
  TS_RETURN_IF_ERROR(table.Read("feed", &options.feed));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "query_ms", &options.query_ms));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "spread_ms", &options.spread_ms));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "seconds", &options.seconds));
  TS_RETURN_IF_ERROR(table.Read("symbol", &options.asof_symbol));
  TS_RETURN_IF_ERROR(table.Read("queries", &options.queries));
  if (const absl::Status set = monitor::LoadQuerySet(options.queries).status(); !set.ok()) {
    return table.ErrorAt("queries", Message(set));
  }
  TS_RETURN_IF_ERROR(table.Read("symbols", &options.symbols));
  TS_RETURN_IF_ERROR(table.Read("queries_wait", &options.queries_wait));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "progress_s", &options.progress_s));
  config.monitors.push_back(std::move(options));
  return absl::OkStatus();
}

// Two processes of one name would share a log file, and an address could not tell them apart.
absl::Status CheckNames(const ConfigTable& root, const StackConfig& config) {
  StringSet names;
  const auto add = [&](std::string_view section, const std::string& name) {
    if (names.insert(name).second) return absl::OkStatus();
    return root.ErrorAt(
        section, fmt::format("the name {} is taken by another process: give it a name", name));
  };
  if (config.tickerplant) TS_RETURN_IF_ERROR(add("tickerplant", config.tickerplant->name));
  for (const rdb::RdbMainOptions& rdb : config.rdbs) TS_RETURN_IF_ERROR(add("rdb", rdb.name));
  for (const feed::FeedOptions& feed : config.feeds) TS_RETURN_IF_ERROR(add("feed", feed.name));
  if (config.aggengine) TS_RETURN_IF_ERROR(add("aggengine", config.aggengine->name));
  if (config.hdb) TS_RETURN_IF_ERROR(add("hdb", config.hdb->name));
  for (const monitor::MonitorOptions& monitor : config.monitors) {
    TS_RETURN_IF_ERROR(add("monitor", monitor.name));
  }
  return absl::OkStatus();
}

absl::StatusOr<StackConfig> ReadConfig(const Config& file) {
  const ConfigTable& root = file.root();
  StackConfig config;
  std::string date;
  TS_ASSIGN_OR_RETURN(const ConfigTable stack, root.Table("stack"));
  TS_RETURN_IF_ERROR(ReadStack(stack, config));
  TS_RETURN_IF_ERROR(stack.Read("date", &date));
  TS_ASSIGN_OR_RETURN(config.schemas, ReadSchemas(root));
  TS_ASSIGN_OR_RETURN(const ConfigTable aggengine, root.Table("aggengine"));
  if (root.Has("aggengine")) {
    config.aggengine.emplace();
    TS_ASSIGN_OR_RETURN(config.aggengine->bars,
                        ReadBars(aggengine, config.schemas, config.warnings));
  }
  if (root.Has("tickerplant")) {
    TS_ASSIGN_OR_RETURN(const ConfigTable table, root.Table("tickerplant"));
    TS_RETURN_IF_ERROR(ReadTickerplant(table, config));
  }
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> rdbs, root.Tables("rdb"));
  for (const ConfigTable& table : rdbs) TS_RETURN_IF_ERROR(ReadRdb(root, table, config));
  if (config.aggengine) TS_RETURN_IF_ERROR(ReadAggEngine(root, aggengine, config));
  TS_RETURN_IF_ERROR(CheckStackTiers(
      root, config.rdbs, config.aggengine ? config.aggengine->state.name : "", config.warnings));
  if (root.Has("hdb")) {
    TS_ASSIGN_OR_RETURN(const ConfigTable table, root.Table("hdb"));
    TS_RETURN_IF_ERROR(ReadHdb(table, config));
  }
  TS_RETURN_IF_ERROR(ReadEndOfDay(root, config.hdb ? config.hdb->name : "", config.rdbs));
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> feeds, root.Tables("feed"));
  for (const ConfigTable& table : feeds) TS_RETURN_IF_ERROR(ReadFeed(table, config));
  TS_ASSIGN_OR_RETURN(const std::vector<ConfigTable> monitors, root.Tables("monitor"));
  for (const ConfigTable& table : monitors) TS_RETURN_IF_ERROR(ReadMonitor(table, config));
  TS_RETURN_IF_ERROR(file.CheckUnusedKeys());
  TS_RETURN_IF_ERROR(CheckNames(root, config));
  SetData(config, config.data);
  if (date.empty()) return config;
  const absl::Status dated = SetDate(config, date);
  if (!dated.ok()) return stack.ErrorAt("date", Message(dated));
  return config;
}

// Returns `address`, or where the stack's process of that name listens.
std::string Resolve(const StackConfig& config, const std::string& address) {
  const auto at = [](const wire::ListenerOptions& listener) {
    return fmt::format("{}:{}", listener.host, listener.port);
  };
  if (config.tickerplant && config.tickerplant->name == address) {
    return at(config.tickerplant->listener);
  }
  for (const rdb::RdbMainOptions& rdb : config.rdbs) {
    if (rdb.name == address) return at(rdb.listener);
  }
  for (const feed::FeedOptions& feed : config.feeds) {
    if (feed.name == address) return at(feed.listener);
  }
  if (config.hdb && config.hdb->name == address) return at(config.hdb->listener);
  return address;
}

}  // namespace

bool KnowsTables(const StackConfig& config, const rdb::RdbMainOptions& rdb) {
  return config.tickerplant && rdb.tickerplant == config.tickerplant->name && rdb.replay.empty();
}

absl::StatusOr<StackConfig> LoadStackConfig(const std::string& path) {
  TS_ASSIGN_OR_RETURN(const Config file, Config::Load(path));
  return ReadConfig(file);
}

absl::StatusOr<StackConfig> ParseStackConfig(std::string_view text, std::string_view file_name) {
  TS_ASSIGN_OR_RETURN(const Config file, Config::Parse(text, file_name));
  return ReadConfig(file);
}

void ResolveAddresses(StackConfig& config) {
  for (rdb::RdbMainOptions& rdb : config.rdbs) {
    rdb.tickerplant = Resolve(config, rdb.tickerplant);
    if (rdb.end_of_day) rdb.end_of_day->hdb = Resolve(config, rdb.end_of_day->hdb);
  }
  for (feed::FeedOptions& feed : config.feeds) feed.tickerplant = Resolve(config, feed.tickerplant);
  if (config.aggengine) {
    config.aggengine->tickerplant = Resolve(config, config.aggengine->tickerplant);
  }
  for (monitor::MonitorOptions& monitor : config.monitors) {
    monitor.rdb = Resolve(config, monitor.rdb);
    monitor.feed = Resolve(config, monitor.feed);
  }
}

absl::Status SetDate(StackConfig& config, const std::string& date) {
  const std::optional<int32_t> day = ParseDate(date);
  if (!day.has_value()) {
    return InvalidArgument("expected a date such as 2013.10.07, found \"{}\"", date);
  }
  config.date = date;
  if (config.tickerplant) config.tickerplant->date = day;
  for (feed::FeedOptions& feed : config.feeds) feed.source.date = FormatDate(*day);
  return absl::OkStatus();
}

void SetData(StackConfig& config, const std::string& data) {
  config.data = data;
  if (config.tickerplant) config.tickerplant->data = data;
  for (rdb::RdbMainOptions& rdb : config.rdbs) rdb.data = data;
  for (monitor::MonitorOptions& monitor : config.monitors) monitor.data = data;
}

absl::Status SetSymbols(feed::SourceOptions& source, std::string_view text) {
  if (source.kind == "lean") {
    source.lean_symbols.clear();
    for (size_t begin = 0; begin <= text.size();) {
      const size_t comma = std::min(text.find(',', begin), text.size());
      source.lean_symbols.emplace_back(text.substr(begin, comma - begin));
      begin = comma + 1;
    }
    return absl::OkStatus();
  }
  int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size() || count < 1 || count > 65'536) {
    return InvalidArgument("symbols: expected a number from 1 to 65536, found \"{}\"", text);
  }
  source.symbols = count;
  return absl::OkStatus();
}

std::optional<wire::FsyncPolicy> ParseFsyncPolicy(std::string_view text) {
  for (const auto& [word, policy] : kFsyncWords) {
    if (word == text) return policy;
  }
  return std::nullopt;
}

}  // namespace tickstack
