#pragma once

// The process of the tickerplant: its options, and the function that the command line calls.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "serve/health.h"
#include "table/schema.h"
#include "tickerplant/cluster/replication_options.h"
#include "tickerplant/shard_rows.h"
#include "tplog/tplog_writer.h"
#include "wire/listener_options.h"

namespace tickstack::tickerplant {

struct TickerplantMainOptions {
  std::string name = "tickerplant";
  wire::ListenerOptions listener;
  serve::HealthLimits health;
  // True: takes the place of the tickerplant that listens on the port (succession.h).
  bool take_over = false;
  std::vector<Schema> schemas = DefaultSchemas();
  std::string data = "data";  // The log goes to DATA/tplog/LOG_NAMEyyyy.mm.dd.
  std::string log_name = "sym";
  std::optional<int32_t> date;    // A fixed date, for replays; default: the clock's.
  std::string time_zone = "UTC";  // Zone of the midnight at which days begin.
  int64_t roll_offset_ns = 0;     // Added to that midnight.
  double batch_ms = 50;           // Publish interval; 0 publishes every message immediately.
  // Delay of publications after the clock's multiples of batch_ms; default: unaligned.
  std::optional<double> batch_phase_ms;
  std::vector<std::string> at_once;      // Tables published immediately (TickerplantOptions).
  size_t batch_bytes = size_t{1} << 20;  // Pending bytes that are published without waiting.
  tplog::FsyncPolicy fsync = tplog::FsyncPolicy::kNone;
  int fsync_interval_ms = 100;
  size_t log_cache_bytes = size_t{256} << 20;  // Bytes of the log's end kept in the page cache.
  // Unsent bytes above which a subscriber gets its rows from the log until it has caught up; 0:
  // never.
  size_t live_queue_bytes = size_t{4} << 20;
  // Time without reading after which a subscriber that is behind is disconnected; 0: never.
  int64_t stall_max_ns = 600 * kNsPerSecond;
  // Unsent bytes at which a connection is closed.
  size_t max_queue_bytes = size_t{512} << 20;
  size_t max_message_bytes = size_t{256} << 20;  // A larger message closes its connection.
  // True: polls instead of sleeping, which occupies a core and saves wake-ups.
  bool busy_poll = false;

  // Address of the tickerplant whose rows are copied (upstream.h); empty: none.
  std::string upstream;
  std::vector<std::string> symbols;  // Symbols to copy; empty: all.
  bool all_tables = true;            // False: only those of `schemas`, which were chosen.
  double poll_ms = 5;  // Pause before the next request at the end of the upstream's log.

  // How this tickerplant is a member of a cluster; without etcd, it is alone.
  ReplicationOptions replication;

  ShardOptions shard;  // Without a map: the stack has no shards.
};

// The options of one more tickerplant of the cluster in the same configuration.
struct StandbyOptions : TickerplantMainOptions {
  StandbyOptions() { name = log_name = "standby"; }
};

// The options of a process that copies another tickerplant.
struct ChainedOptions : TickerplantMainOptions {
  ChainedOptions() {
    name = log_name = "chained";
    batch_ms = 1000;
    upstream = "127.0.0.1:5010";
  }
};

// Runs until SIGTERM or SIGINT; then takes what feeds have sent, logs and publishes it, and gives
// subscribers time to read it. Returns 0; wire::kExitHandedOver if another process has taken its
// place; 1 if the log could not be opened or failed. Blocks. Uses the calling thread, one that
// starts the write-out of log pages, and one more if fsync is by interval.
int RunTickerplant(const TickerplantMainOptions& options);

}  // namespace tickstack::tickerplant
