// [[monitor]] and `tickstack monitor`.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "cli/bars_config.h"
#include "cli/process_table.h"
#include "cli/shared_options.h"
#include "measure/clients/query_set.h"
#include "monitor/monitor_metrics.h"

namespace tickstack::cli {
namespace {

using monitor::MonitorOptions;

// It asks the file's first RDB and starts the file's first feed unless the file says others.
absl::Status ReadMonitor(const ConfigTable& /*root*/, const ConfigTable& table, StackConfig& config,
                         MonitorOptions& options) {
  if (!config.rdbs.empty()) options.rdb = config.rdbs.front().name;
  if (!config.feeds.empty()) options.feed = config.feeds.front().name;
  options.bars = DailyBars(config.bars);
  TS_RETURN_IF_ERROR(table.Read("rdb", &options.rdb));
  TS_RETURN_IF_ERROR(table.Read("feed", &options.feed));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "query_ms", &options.query_ms));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "spread_ms", &options.spread_ms));
  TS_RETURN_IF_ERROR(ReadFromZero(table, "seconds", &options.seconds));
  TS_RETURN_IF_ERROR(table.Read("symbol", &options.asof_symbol));
  TS_RETURN_IF_ERROR(table.Read("queries", &options.queries));
  if (const absl::Status set = measure::LoadQuerySet(options.queries).status(); !set.ok()) {
    return table.ErrorAt("queries", Message(set));
  }
  TS_RETURN_IF_ERROR(table.Read("symbols", &options.symbols));
  TS_RETURN_IF_ERROR(table.Read("queries_wait", &options.queries_wait));
  return ReadFromZero(table, "progress_s", &options.progress_s);
}

std::function<void()> AddMonitorFlags(CLI::App& command, StackConfig& config,
                                      MonitorOptions& options) {
  AddDataFlag(command, config);
  command.add_option("--rdb", options.rdb, "Address of the rdb to query")->capture_default_str();
  command.add_option("--feed", options.feed, "Address of the feed to start; empty: none")
      ->capture_default_str();
  command.add_option("--bars", options.bars, "Bar tables to watch, such as trade_daily")
      ->delimiter(',');
  command.add_option("--query-ms", options.query_ms, "Interval between samples in ms")
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
                  "Stop after this many seconds; 0: run until SIGTERM or Ctrl-C")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--symbol", options.asof_symbol,
                     "Symbol of the as-of join; empty: the symbol of the newest trade");
  command
      .add_option("--queries", options.queries,
                  "Additional query clients: monitor (no clients), paper, heavy, or a file such as "
                  "desk.toml")
      ->capture_default_str();
  command.add_option(
      "--symbols", options.symbols,
      "File of SYMBOL,WEIGHT lines that clients query; empty: the symbols of the rdb");
  command
      .add_option("--watch", options.watch,
                  "Processes of the stack that its page shows, each as ROLE:NAME=ADDRESS; empty: "
                  "those of the configuration, or the rdb and the feed")
      ->delimiter(',');
  command
      .add_option("--progress-s", options.progress_s,
                  "Interval between progress lines in s; 0: no progress lines")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  return nullptr;
}

void Resolve(const AddressOf& address_of, MonitorOptions& options) {
  options.rdb = address_of(options.rdb);
  options.feed = address_of(options.feed);
}

// Returns all processes but monitors, for --watch.
std::vector<std::string> WatchedOf(const StackConfig& config) {
  std::vector<std::string> watched;
  const auto add = [&watched](std::string_view role, const auto& process) {
    watched.push_back(
        fmt::format("{}:{}={}", role, process.name, wire::AddressOf(process.listener).ToString()));
  };
  for (const feed::FeedOptions& feed : config.feeds) add("feed", feed);
  for (const auto& each : config.tickerplant.all) add("tickerplant", each);
  for (const tickerplant::ChainedOptions& chained : config.chained) add("chained", chained);
  for (const rdb::RdbMainOptions& rdb : config.rdbs) add("rdb", rdb);
  for (const auto& each : config.aggengine.all) add("aggengine", each);
  for (const auto& each : config.hdb.all) add("hdb", each);
  return watched;
}

void AddChildFlags(const StackConfig& config, const MonitorOptions& options, Flags& flags) {
  flags.insert(flags.end(), {"--rdb", options.rdb, "--feed", options.feed, "--data", config.data});
  const std::vector<std::string> watched = WatchedOf(config);
  if (!watched.empty()) {
    flags.insert(flags.end(), {"--watch", fmt::format("{}", fmt::join(watched, ","))});
  }
}

}  // namespace

const ProcessHooks<MonitorOptions> kMonitorHooks = {
    .read = ReadMonitor,
    .add_flags = AddMonitorFlags,
    .run =
        [](const StackConfig& config, MonitorOptions& options) {
          if (options.watch.empty()) options.watch = WatchedOf(config);
          return monitor::RunMonitor(options);
        },
    .resolve = Resolve,
    .child_flags = AddChildFlags,
    .metrics = monitor::Metrics,
};

}  // namespace tickstack::cli
