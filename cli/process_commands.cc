#include "cli/process_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "base/child_process.h"
#include "base/config.h"
#include "base/logging.h"
#include "base/status.h"

namespace tickstack {
namespace {

// --- Which configuration -------------------------------------------------------------------------

// Returns the value of `--flag VALUE` or `--flag=VALUE`; the last one, as in CLI11.
std::optional<std::string> FlagOf(const std::vector<std::string>& args, std::string_view flag) {
  std::optional<std::string> value;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == flag && i + 1 < args.size()) value = args[i + 1];
    if (args[i].size() > flag.size() && args[i].starts_with(flag) && args[i][flag.size()] == '=') {
      value = args[i].substr(flag.size() + 1);
    }
  }
  return value;
}

// Keeps only the process of that name, or the first.
template <typename Options>
absl::Status KeepOne(std::vector<Options>& all, const std::optional<std::string>& name,
                     std::string_view role) {
  const auto found =
      name ? std::find_if(all.begin(), all.end(), [&](const Options& o) { return o.name == *name; })
           : all.begin();
  if (found == all.end()) {
    return NotFound("no [{}]{} in the configuration", role, name ? " named " + *name : "");
  }
  Options one = std::move(*found);
  all.clear();
  all.push_back(std::move(one));
  return absl::OkStatus();
}

absl::StatusOr<StackConfig> LoadedConfig(const std::string& file, const std::string& role,
                                         const std::optional<std::string>& name) {
  TS_ASSIGN_OR_RETURN(StackConfig config, LoadStackConfig(file));
  ResolveAddresses(config);
  absl::Status kept;
  if (role == "rdb") kept = KeepOne(config.rdbs, name, role);
  if (role == "feed") kept = KeepOne(config.feeds, name, role);
  if (role == "monitor") kept = KeepOne(config.monitors, name, role);
  const bool has_one = role == "tickerplant" ? config.tickerplant.has_value()
                       : role == "hdb"       ? config.hdb.has_value()
                       : role == "aggengine" ? config.aggengine.has_value()
                                             : true;
  if (!has_one) kept = NotFound("no [{}] in the configuration", role);
  if (!kept.ok()) return Annotate(kept, file);
  return config;
}

// --- Flags of several commands -------------------------------------------------------------------

struct CommonFlags {
  std::string config;  // Read by ConfigForProcess; listed here for --help and the check.
  int parent_fd = -1;
  std::string log_level;
};

// Adds the flags and their effects to `command`; returns the values of the two that act
// immediately.
std::shared_ptr<CommonFlags> AddCommonFlags(CLI::App& command, StackConfig& config,
                                            std::string& name, wire::ListenerOptions& listener) {
  auto flags = std::make_shared<CommonFlags>();
  command.add_option("--config", flags->config,
                     "Stack configuration (stack.toml) for all settings without a flag");
  command
      .add_option("--name", name, "Name of the process, in its log lines and in the configuration")
      ->capture_default_str();
  command.add_option("--host", listener.host, "Address to listen on")->capture_default_str();
  command.add_option("--port", listener.port, "TCP port to listen on; 0 lets the kernel choose")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command.add_flag("--unix-socket", listener.unix_socket,
                   "Also listen on the abstract Unix socket @/tmp/kx.PORT");
  command
      .add_option("--log-level", flags->log_level,
                  "Lowest level to log: debug, info, warn, error or off")
      ->check([](const std::string& text) {
        return ParseLogLevel(text) ? "" : "expected debug, info, warn, error or off";
      });
  command
      .add_option("--listen-fd", listener.listen_fd,
                  "Descriptor of an inherited listening socket, instead of --port")
      ->group("Passed by the parent process");
  command
      .add_option("--ready-fd", listener.ready_fd,
                  "Descriptor to write `ready` to once the process accepts connections")
      ->group("Passed by the parent process");
  command.add_option("--parent-fd", flags->parent_fd, "Stop when this inherited pipe closes")
      ->group("Passed by the parent process");
  command.parse_complete_callback([flags, &config] {
    if (const auto level = ParseLogLevel(flags->log_level)) config.log_level = *level;
  });
  return flags;
}

void AddDataFlag(CLI::App& command, StackConfig& config) {
  command
      .add_option_function<std::string>(
          "--data", [&config](const std::string& data) { SetData(config, data); }, "Data directory")
      ->default_str(config.data);
}

// Prepares a process to run: names its log, and makes it end with its parent.
void BeginProcess(const StackConfig& config, const CommonFlags& flags, const std::string& name) {
  InitLogging(name, config.log_level);
  if (flags.parent_fd >= 0) return DieWithParent(flags.parent_fd);
  // The supervisor of a stack has logged the warnings once for all processes.
  for (const std::string& warning : config.warnings) LogWarn("{}", warning);
}

std::string ThrowUnlessOk(const absl::Status& status) {
  if (!status.ok()) throw CLI::ValidationError(std::string(Message(status)));
  return "";
}

// Reads a size, such as 64MiB, into an integer option.
template <typename T>
CLI::Option* AddBytes(CLI::App& command, const std::string& flag, T& target,
                      const std::string& help) {
  return command
      .add_option_function<std::string>(
          flag,
          [&target, flag](const std::string& text) {
            const std::optional<size_t> bytes = ParseBytes(text);
            if (!bytes)
              throw CLI::ValidationError(flag, "expected a size such as 64MiB, found " + text);
            target = static_cast<T>(*bytes);
          },
          help)
      ->default_str(std::to_string(target));
}

CLI::Option* AddDuration(CLI::App& command, const std::string& flag, int64_t& target_ns,
                         const std::string& help) {
  return command.add_option_function<std::string>(
      flag,
      [&target_ns, flag](const std::string& text) {
        const std::optional<int64_t> ns = ParseDuration(text);
        if (!ns) throw CLI::ValidationError(flag, "expected a duration such as 17h, found " + text);
        target_ns = *ns;
      },
      help);
}

void AddQueryFlags(CLI::App& command, serve::QuerySettings& options) {
  command.add_option("--query-threads", options.query_threads, "Threads that answer queries")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  command
      .add_option("--query-helpers", options.query_helpers,
                  "Additional threads for parallel queries (default: number of cores minus one)")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--query-nice", options.query_nice,
                  "Nice value of the query threads; higher leaves more CPU time for updates")
      ->check(CLI::Range(0, 19))
      ->capture_default_str();
  command
      .add_option("--query-timeout-s", options.query_timeout_s,
                  "Time limit of a query in s; 0: no limit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--query-slow-ms", options.query_slow_ms,
                  "Log queries that take longer than this many ms; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  AddBytes(command, "--query-max-bytes", options.query_max_bytes,
           "Memory limit of one query, such as 64MiB; 0: the size of the query tier, or 1GiB if it "
           "is DRAM");
  AddBytes(command, "--query-unread-bytes", options.query_unread_bytes,
           "Memory limit of all answers not yet read by clients; 0: twice --query-max-bytes");
  command
      .add_option("--query-unread-timeout-s", options.query_unread_timeout_s,
                  "Disconnect a client that reads nothing of its answer for this many s; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

}  // namespace

absl::StatusOr<StackConfig> ConfigForProcess(const std::vector<std::string>& args) {
  const std::string role = args.empty() ? "" : args.front();
  const std::optional<std::string> file = FlagOf(args, "--config");
  if (file) return LoadedConfig(*file, role, FlagOf(args, "--name"));
  StackConfig config;
  config.tickerplant.emplace();
  config.tickerplant->listener.port = 5010;
  config.rdbs.emplace_back();
  config.rdbs.front().listener.port = 5011;
  config.feeds.emplace_back();
  config.aggengine.emplace();
  config.aggengine->bars = aggengine::DefaultBars(DefaultSchemas());
  config.hdb.emplace();
  config.hdb->listener.port = 5012;
  config.monitors.emplace_back();
  return config;
}

void AddTickerplantCommand(CLI::App& app, StackConfig& config, Action& action) {
  if (!config.tickerplant) return;
  tickerplant::TickerplantMainOptions& options = *config.tickerplant;
  CLI::App& command = *app.add_subcommand(
      "tickerplant", "Receive updates, log them, and publish them to subscribers in batches");
  const auto flags = AddCommonFlags(command, config, options.name, options.listener);
  AddDataFlag(command, config);
  command.add_option_function<std::string>(
      "--date", [&config](const std::string& date) { ThrowUnlessOk(SetDate(config, date)); },
      "Use this fixed date for a replay, such as 2013.10.07");
  command
      .add_option("--batch-ms", options.batch_ms,
                  "Publish interval in ms; 0 publishes every message immediately")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--log-name", options.log_name,
                  "Prefix of the log's file name: DATA/tplog/PREFIXyyyy.mm.dd")
      ->capture_default_str();
  command
      .add_option_function<std::string>(
          "--fsync",
          [&options](const std::string& text) {
            const std::optional<wire::FsyncPolicy> policy = ParseFsyncPolicy(text);
            if (!policy) throw CLI::ValidationError("--fsync", "expected none, interval or batch");
            options.fsync = *policy;
          },
          "When to fsync the log: none, interval or batch")
      ->default_str("none");
  command
      .add_option("--fsync-interval-ms", options.fsync_interval_ms,
                  "Time between fsyncs in ms, with --fsync interval")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  AddBytes(command, "--log-cache", options.log_cache_bytes,
           "How much of the log's end stays in the page cache, such as 256MiB");
  command
      .add_option("--time-zone", options.time_zone,
                  "Time zone whose midnight starts a new day, such as America/New_York")
      ->capture_default_str();
  AddDuration(command, "--roll-offset", options.roll_offset_ns,
              "Start days this long after midnight, such as 17h");
  AddBytes(command, "--max-queue-bytes", options.max_queue_bytes,
           "Disconnect a subscriber with more unsent bytes than this; it can reconnect and replay");
  AddBytes(command, "--max-message-bytes", options.max_message_bytes,
           "Largest message accepted; a larger one closes its connection");
  command.add_flag("--busy-poll", options.busy_poll, "Poll instead of sleeping; occupies one core");
  command.callback([&, flags] {
    action = [&, flags] {
      BeginProcess(config, *flags, options.name);
      return tickerplant::RunTickerplant(options);
    };
  });
}

void AddRdbCommand(CLI::App& app, StackConfig& config, Action& action) {
  if (config.rdbs.empty()) return;
  rdb::RdbMainOptions& options = config.rdbs.front();
  CLI::App& command = *app.add_subcommand(
      "rdb", "Keep today's data in memory, fed by a tickerplant, and answer queries");
  const auto flags = AddCommonFlags(command, config, options.name, options.listener);
  AddDataFlag(command, config);
  command.add_option_function<std::string>(
      "--hdb",
      [&options](const std::string& hdb) {
        if (options.end_of_day) options.end_of_day->hdb = hdb;
      },
      "Address of the hdb to reload after end of day, if the configuration has [eod]");
  command
      .add_option("--tickerplant", options.tickerplant,
                  "Address of the tickerplant to subscribe to")
      ->capture_default_str();
  command.add_option("--replay", options.replay,
                     "Serve this tickerplant log instead of subscribing to a tickerplant");
  command
      .add_flag("--read-log-file,!--no-read-log-file", options.read_log_file,
                "Replay from the log's file if it can be opened, otherwise over the connection")
      ->capture_default_str();
  AddBytes(command, "--memory", options.tiers.front().options.capacity_bytes,
           "Capacity of the DRAM tier, such as 16GiB");
  AddQueryFlags(command, options);
  command.add_flag("--busy-poll", options.busy_poll, "Poll instead of sleeping; occupies one core");
  command.callback([&, flags] {
    action = [&, flags] {
      BeginProcess(config, *flags, options.name);
      return rdb::RunRdb(options);
    };
  });
}

void AddHdbCommand(CLI::App& app, StackConfig& config, Action& action) {
  if (!config.hdb) return;
  hdb::HdbMainOptions& options = *config.hdb;
  CLI::App& command =
      *app.add_subcommand("hdb", "Answer queries about past days from a database on disk");
  const auto flags = AddCommonFlags(command, config, options.name, options.listener);
  AddDataFlag(command, config);
  command.add_option("--db", options.database, "Database directory (default: DATA/hdb)");
  AddBytes(command, "--cache", options.cache_bytes,
           "Cache size for decompressed columns; 0: a quarter of the machine's memory");
  AddQueryFlags(command, options);
  command.callback([&, flags] {
    if (!command.get_subcommands().empty()) return;  // A tool for databases, not the process.
    action = [&, flags] {
      BeginProcess(config, *flags, options.name);
      if (options.database.empty()) options.database = config.data + "/hdb";
      return hdb::RunHdb(options);
    };
  });
}

void AddFeedCommand(CLI::App& app, StackConfig& config, Action& action) {
  if (config.feeds.empty()) return;
  feed::FeedOptions& options = config.feeds.front();
  feed::SourceOptions& source = options.source;
  CLI::App& command = *app.add_subcommand(
      "feed", "Publish a simulated market, an archive of real ticks, or a past day's log");
  const auto flags = AddCommonFlags(command, config, options.name, options.listener);
  command
      .add_option("--tickerplant", options.tickerplant, "Address of the tickerplant to publish to")
      ->capture_default_str();
  command
      .add_option("--source", source.kind,
                  "sim: simulated market; lean: archives of real ticks; tplog: a log")
      ->check(CLI::IsMember({"sim", "lean", "tplog"}))
      ->capture_default_str();
  command.add_option("--path", source.path, "lean: folder of the archives; tplog: path of the log");
  command.add_option_function<std::string>(
      "--date", [&config](const std::string& date) { ThrowUnlessOk(SetDate(config, date)); },
      "lean: day to publish, such as 2013.10.07");
  auto symbols = std::make_shared<std::string>();
  command.add_option("--symbols", *symbols,
                     "lean: folders of the symbols, such as aig,bac; sim: number of symbols");
  command.add_option("--rate", source.rate, "sim: updates per second; 0: as fast as possible")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seconds", source.seconds, "sim: length of the market in s; 0: endless")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--rows", source.rows, "sim: total number of updates, instead of --seconds");
  command
      .add_option("--profile", source.profile,
                  "sim: name of the load profile; only march2020 exists")
      ->capture_default_str();
  command.add_option("--seed", source.seed, "sim: the same seed gives the same market")
      ->capture_default_str();
  command.add_option("--batch-rows", source.batch_rows, "Largest number of rows in a message")
      ->check(CLI::Range(int64_t{1}, int64_t{1'000'000}))
      ->capture_default_str();
  command
      .add_option("--speed", source.speed,
                  "Speed relative to real time; 0: 1 for sim, as fast as possible for the others")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--batch-ms", options.batch_ms,
                  "Send interval in ms; each send contains the rows due since the last one")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_flag("--start", options.start,
                   "Start immediately instead of waiting for .feed.start[]");
  command.add_flag("--exit-when-done", options.exit_when_done,
                   "Exit once the tickerplant has logged every row");
  command.add_flag("--take-over", options.take_over,
                   "Take the name from a running feed that holds it; that feed then fails");
  command.add_flag("--busy-poll", options.busy_poll, "Poll instead of sleeping; occupies one core");
  command.callback([&, flags, symbols] {
    if (!symbols->empty()) ThrowUnlessOk(SetSymbols(source, *symbols));
    action = [&, flags] {
      BeginProcess(config, *flags, options.name);
      return feed::RunFeed(options);
    };
  });
}

void AddAggEngineCommand(CLI::App& app, StackConfig& config, Action& action) {
  if (!config.aggengine) return;
  aggengine::AggEngineMainOptions& options = *config.aggengine;
  CLI::App& command = *app.add_subcommand(
      "aggengine",
      "Maintain running bars of trades and quotes, and publish them to the tickerplant");
  const auto flags = AddCommonFlags(command, config, options.name, options.listener);
  command
      .add_option("--tickerplant", options.tickerplant,
                  "Address of the tickerplant to subscribe and publish to")
      ->capture_default_str();
  command
      .add_option("--publish-ms", options.publish_ms,
                  "Publish interval in ms for changed bars; 0: half of the tickerplant's interval")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--publish-gap-ms", options.publish_gap_ms,
                  "With --publish-ms 0: minimum time between two publications in ms")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_flag("--read-log-file,!--no-read-log-file", options.read_log_file,
                "Replay from the log's file if it can be opened, otherwise over the connection")
      ->capture_default_str();
  AddBytes(command, "--history-bytes", options.history_bytes,
           "Memory limit of the day's history for time-weighted averages, 16 bytes a quote; 0: no "
           "limit");
  command.add_flag("--busy-poll", options.busy_poll, "Poll instead of sleeping; occupies one core");
  command.callback([&, flags] {
    action = [&, flags] {
      BeginProcess(config, *flags, options.name);
      return aggengine::RunAggEngine(options);
    };
  });
}

void AddMonitorCommand(CLI::App& app, StackConfig& config, Action& action) {
  if (config.monitors.empty()) return;
  monitor::MonitorOptions& options = config.monitors.front();
  CLI::App& command = *app.add_subcommand(
      "monitor", "Measure latency and as-of join time by querying the rdb; start the feed");
  const auto flags = AddCommonFlags(command, config, options.name, options.listener);
  AddDataFlag(command, config);
  command.add_option("--rdb", options.rdb, "Address of the rdb to query")->capture_default_str();
  command.add_option("--feed", options.feed, "Address of the feed to start; empty: none")
      ->capture_default_str();
  command.add_option("--bars", options.bars, "Bar tables to watch, such as trade_daily")
      ->delimiter(',');
  command.add_option("--query-ms", options.query_ms, "Time between two samples in ms")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command
      .add_option("--spread-ms", options.spread_ms,
                  "Largest random delay of a sample in ms, so that samples do not synchronise with "
                  "other timers")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command
      .add_option("--seconds", options.seconds,
                  "Stop after this many s; 0: run until SIGTERM or Ctrl-C")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--symbol", options.asof_symbol,
                     "Symbol of the as-of join; empty: that of the newest trade");
  command
      .add_option(
          "--queries", options.queries,
          "Additional query clients: monitor (none), paper, heavy, or a file such as desk.toml")
      ->capture_default_str();
  command.add_option(
      "--symbols", options.symbols,
      "File of SYMBOL,WEIGHT lines that clients query; empty: the symbols of the rdb");
  command
      .add_option("--progress-s", options.progress_s,
                  "Time between two progress lines in s; 0: no progress lines")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.callback([&, flags] {
    action = [&, flags] {
      BeginProcess(config, *flags, options.name);
      return monitor::RunMonitor(options);
    };
  });
}

}  // namespace tickstack
