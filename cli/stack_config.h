#pragma once

// Reads a stack's configuration (examples/stack.toml has every key) into the options of its
// processes.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "aggengine/aggengine_main.h"
#include "base/logging.h"
#include "feed/feed_main.h"
#include "hdb/hdb_main.h"
#include "monitor/monitor_main.h"
#include "rdb/rdb_main.h"
#include "table/schema.h"
#include "tickerplant/tickerplant_main.h"

namespace tickstack {

struct StackConfig {
  std::string name = "stack";
  std::string data = "data";        // Data directory, relative to where the stack is started.
  std::optional<std::string> date;  // Day of a replay; default: the clock's.
  LogLevel log_level = LogLevel::kInfo;
  bool restart = true;  // True: `up` restarts a process that died.

  std::vector<Schema> schemas;        // `[tables]`, or the default tables; then those of bars.
  std::vector<std::string> warnings;  // `file:line: key: what`: suspicious, but not an error.

  std::optional<tickerplant::TickerplantMainOptions> tickerplant;
  std::vector<rdb::RdbMainOptions> rdbs;
  std::vector<feed::FeedOptions> feeds;
  std::optional<aggengine::AggEngineMainOptions> aggengine;
  std::optional<hdb::HdbMainOptions> hdb;
  std::vector<monitor::MonitorOptions> monitors;
};

// Read and check a configuration. kInvalidArgument, with file, line and key (base/config.h), for a
// value of the wrong type, an unknown key, or a name of two processes. Addresses that name a
// process (`tickerplant = "tp"`) stay names until ResolveAddresses.
absl::StatusOr<StackConfig> LoadStackConfig(const std::string& path);
absl::StatusOr<StackConfig> ParseStackConfig(std::string_view text, std::string_view file_name);

// True if the rdb gets the file's tables, because it subscribes to the file's tickerplant. Call it
// before ResolveAddresses, since it compares names.
bool KnowsTables(const StackConfig& config, const rdb::RdbMainOptions& rdb);

// Replaces addresses that name a process of the stack by its current `host:port`.
void ResolveAddresses(StackConfig& config);

// Sets the day of everything that has one. kInvalidArgument unless it has the form `2013.10.07`.
absl::Status SetDate(StackConfig& config, const std::string& date);
void SetData(StackConfig& config, const std::string& data);

// Sets the symbols to a list such as `aig,bac` or, for the simulation, to a number of symbols.
absl::Status SetSymbols(feed::SourceOptions& source, std::string_view text);
std::optional<wire::FsyncPolicy> ParseFsyncPolicy(std::string_view text);

}  // namespace tickstack
