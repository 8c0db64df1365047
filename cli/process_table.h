#pragma once

// The processes of a stack, a row for each kind. From the rows derive
//
//   tickstack --help        the subcommand ROLE, its flags and what it runs
//   stack.toml              the section [ROLE], or [[ROLE]] where a stack may have several
//   tickstack up            what is started, in this order, on which listeners, and stopped by rank
//   CMakeLists.txt          the folder ROLE/ and the file cli/ROLE_process.cc
//   tests/layers_test.py    which folders are processes
//
// `Variant` is the row of a kind that runs another kind's program. It has no folder, and its hooks
// are in the other kind's cli/ROLE_process.cc.
//
// A new process is its folder, its cli/ROLE_process.cc, and here its options, hooks and row.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aggengine/aggengine_main.h"
#include "base/file.h"
#include "base/logging.h"
#include "base/name_map.h"
#include "bridge/bridge_main.h"
#include "cli/process_kind.h"
#include "cli/security_config.h"
#include "feed/feed_main.h"
#include "gateway/gateway_main.h"
#include "hdb/hdb_main.h"
#include "monitor/monitor_main.h"
#include "rdb/rdb_main.h"
#include "table/schema.h"
#include "table/shard_map.h"
#include "tickerplant/tickerplant_main.h"
#include "wire/tls_context.h"

namespace tickstack::cli {

struct StackConfig {
  std::string name = "stack";
  std::string data = "data";        // Data directory, relative to where the stack is started.
  std::optional<std::string> date;  // Day of a replay; default: the clock's.
  LogLevel log_level = LogLevel::kInfo;
  LogFormat log_format = LogFormat::kText;
  bool restart = true;  // True: `up` restarts a process that died.
  FileAccess readable_by = FileAccess::kOwner;
  wire::TlsClientOptions tls_client;  // How all processes connect.
  SecurityConfig security;            // `[security]`

  std::vector<Schema> schemas;           // `[tables]`, or the default tables; then those of bars.
  std::vector<aggengine::BarSpec> bars;  // `[[aggengine.bars]]` and the default ones.
  std::vector<std::string> warnings;     // `file:line: key: what`: suspicious, but not an error.

  std::shared_ptr<const ShardMap> shard_map;  // `[[shard]]`; nullptr: no shards.
  NameMap<std::string> shard_of;              // By name: the shards of processes that have one.

  OnePerShard<tickerplant::TickerplantMainOptions> tickerplant;
  std::vector<tickerplant::StandbyOptions> standbys;
  std::vector<tickerplant::ChainedOptions> chained;
  std::vector<rdb::RdbMainOptions> rdbs;
  std::vector<feed::FeedOptions> feeds;
  OnePerShard<hdb::HdbMainOptions> hdb;
  std::vector<monitor::MonitorOptions> monitors;
  OnePerShard<aggengine::AggEngineMainOptions> aggengine;
  std::optional<gateway::GatewayMainOptions> gateway;
  std::vector<bridge::BridgeOptions> bridges;
};

extern const ProcessHooks<tickerplant::TickerplantMainOptions> kTickerplantHooks;
extern const ProcessHooks<tickerplant::StandbyOptions> kStandbyHooks;
extern const ProcessHooks<tickerplant::ChainedOptions> kChainedHooks;
extern const ProcessHooks<rdb::RdbMainOptions> kRdbHooks;
extern const ProcessHooks<feed::FeedOptions> kFeedHooks;
extern const ProcessHooks<hdb::HdbMainOptions> kHdbHooks;
extern const ProcessHooks<monitor::MonitorOptions> kMonitorHooks;
extern const ProcessHooks<aggengine::AggEngineMainOptions> kAggEngineHooks;
extern const ProcessHooks<gateway::GatewayMainOptions> kGatewayHooks;
extern const ProcessHooks<bridge::BridgeOptions> kBridgeHooks;

// Sections are read in this order, too: a kind can refer to the ones above it.
// clang-format off
inline constexpr ProcessKind kProcesses[] = {
    Row<&StackConfig::tickerplant, kTickerplantHooks>("tickerplant",
        "Receive updates, log them, and publish them to subscribers in batches",
        5010, StopRank::kTickerplant),
    Variant<&StackConfig::standbys, kStandbyHooks>("standby",
        "Keep a copy of the tickerplant's log, and take its place when it is lost",
        5030, StopRank::kTickerplant),
    Variant<&StackConfig::chained, kChainedHooks>("chained",
        "Copy another tickerplant's rows, all or some of them, and publish them to subscribers",
        5020, StopRank::kChained),
    Row<&StackConfig::rdbs, kRdbHooks>("rdb",
        "Receive today's rows from a tickerplant, keep them in memory, and answer queries",
        5011, StopRank::kRdb, /*may_end=*/false, /*per_shard=*/true),
    Row<&StackConfig::feeds, kFeedHooks>("feed",
        "Publish a simulated market, an archive of real ticks, or a past day's log",
        0, StopRank::kFeed, /*may_end=*/true),  // After its day, with `exit_when_done`.
    Row<&StackConfig::hdb, kHdbHooks>("hdb",
        "Answer queries about past days from a database on disk",
        5012, StopRank::kHdb),
    Row<&StackConfig::monitors, kMonitorHooks>("monitor",
        "Query an rdb to measure latency and as-of join time; can start a feed",
        0, StopRank::kMonitor, /*may_end=*/true),  // After its `seconds`.
    Row<&StackConfig::aggengine, kAggEngineHooks>("aggengine",
        "Compute bars of trades and quotes, and publish them through the tickerplant",
        0, StopRank::kAggEngine),
    Row<&StackConfig::gateway, kGatewayHooks>("gateway",
        "Answer queries through several rdbs and hdbs, as one process would",
        5015, StopRank::kGateway),
    Row<&StackConfig::bridges, kBridgeHooks>("bridge",
        "Pass rows on to Kafka, or publish rows from Kafka, each exactly once",
        0, StopRank::kFeed),
};
// clang-format on

// A process of a configuration and its row.
struct ListedProcess {
  const ProcessKind* kind;
  std::unique_ptr<StackProcess> process;
};

// The processes of a configuration, in the order of the table.
std::vector<ListedProcess> ProcessesOf(StackConfig& config);

}  // namespace tickstack::cli
