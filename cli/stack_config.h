#pragma once

// A stack's configuration (examples/stack.toml has every key) as the options of its processes.

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
  std::string data = "data";        // The data directory, as seen from where the stack is started.
  std::optional<std::string> date;  // The day of a replay; absent: the clock's.
  LogLevel log_level = LogLevel::kInfo;
  bool restart = true;  // `up` starts a process again that died.

  std::vector<Schema> schemas;        // `[tables]`, or the default ones; then those of bars.
  std::vector<std::string> warnings;  // `file:line: key: what`, of what is odd but no error.

  std::optional<tickerplant::TickerplantMainOptions> tickerplant;
  std::vector<rdb::RdbMainOptions> rdbs;
  std::vector<feed::FeedOptions> feeds;
  std::optional<aggengine::AggEngineMainOptions> aggengine;
  std::optional<hdb::HdbMainOptions> hdb;
  std::vector<monitor::MonitorOptions> monitors;
};

// Read and check a configuration. kInvalidArgument, with file, line and key (base/config.h), for a
// value of the wrong kind, an unknown key, or a name that two processes have. Addresses that name a
// process (`tickerplant = "tp"`) stay names until ResolveAddresses.
absl::StatusOr<StackConfig> LoadStackConfig(const std::string& path);
absl::StatusOr<StackConfig> ParseStackConfig(std::string_view text, std::string_view file_name);

// Whether the rdb gets the file's tables: it subscribes to the file's tickerplant. Before
// ResolveAddresses, since it goes by the name.
bool KnowsTables(const StackConfig& config, const rdb::RdbMainOptions& rdb);

// Puts `host:port` where an address names a process of the stack, from the ports as they are now.
void ResolveAddresses(StackConfig& config);

// Puts `date` into everything that has a day: kInvalidArgument unless it reads `2013.10.07`.
absl::Status SetDate(StackConfig& config, const std::string& date);
void SetData(StackConfig& config, const std::string& data);

// `aig,bac` or, for the simulation, a number of symbols.
absl::Status SetSymbols(feed::SourceOptions& source, std::string_view text);
std::optional<wire::FsyncPolicy> ParseFsyncPolicy(std::string_view text);

}  // namespace tickstack
