#pragma once

// The process of the RDB: its options, the options of its tiers, and the function that the command
// line calls.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mem/tier.h"
#include "rdb/end_of_day.h"
#include "rdb/placement_rules.h"
#include "rdb/prestress.h"
#include "serve/health.h"
#include "serve/query_settings.h"
#include "table/shard_id.h"
#include "wire/listener_options.h"

namespace tickstack::rdb {

struct TierConfig {
  mem::TierOptions options;
  // persistent: minimum ms between two commits; 0 commits after each published message.
  int commit_ms = 0;
};
// Returns a DRAM tier that keeps 64 MiB pre-touched.
TierConfig TierConfigOf(std::string_view name);

// Returns the file name of an RDB's persistent tier, in the tier's directory.
std::string PersistentFileOf(std::string_view rdb);

struct RdbMainOptions : serve::QuerySettings {
  std::string name = "rdb";
  wire::ListenerOptions listener;
  serve::HealthLimits health;
  // True: takes the place of the rdb that listens on the port (succession.h).
  bool take_over = false;
  std::string tickerplant = "127.0.0.1:5010";
  ShardId shard = {};         // SubscriberOptions; the answer to `.u.shard[]`.
  std::string data = "data";  // The data directory.
  // How days are written into a database; none: rows are dropped at the end of a day. An empty
  // database path means `hdb` in the data directory.
  std::optional<EndOfDayOptions> end_of_day;
  // Rows to load before it answers, of tables with these schemas; none by default.
  std::shared_ptr<RowSource> prestress;
  std::vector<Schema> prestress_schemas;
  // Replays this log to its end and serves it, without a tickerplant. Tables get their schemas in
  // `replay_schemas` if their rows fit, and inferred ones otherwise.
  std::string replay;
  std::vector<Schema> replay_schemas;
  // True if [tables] has the tables of the tickerplant: they are compared with the database.
  bool knows_tables = false;
  // False: the log comes over the connection even if its file could be opened.
  bool read_log_file = true;
  std::vector<TierConfig> tiers = {TierConfigOf(kDramTier)};  // DRAM first; each name once.
  PlacementRules placement;                                   // Names tiers of `tiers`.
  int numa_node = -1;  // Threads and memory of the process stay on this node; -1: anywhere.
  size_t max_message_bytes = size_t{256} << 20;  // Limit of a published upd.
  bool busy_poll = false;                        // The ingest thread polls instead of sleeping.
};

// Runs until SIGTERM or SIGINT and returns 0, or wire::kExitHandedOver if another process has taken
// its place; 1 if a tier does not open, it could not listen, or the log to replay cannot be read or
// is damaged. Blocks; the calling thread ingests.
int RunRdb(const RdbMainOptions& options);

}  // namespace tickstack::rdb
