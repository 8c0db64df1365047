#pragma once

// The process of the aggregation engine: its options, and the function that the command line calls.

#include <cstddef>
#include <string>
#include <vector>

#include "aggengine/aggregate.h"
#include "mem/tier.h"
#include "serve/health.h"
#include "table/schema.h"
#include "table/shard_id.h"
#include "wire/listener_options.h"

namespace tickstack::aggengine {

struct AggEngineMainOptions {
  std::string name = "aggengine";
  wire::ListenerOptions listener;  // For queries such as `.agg.stats[]`.
  serve::HealthLimits health;
  std::string tickerplant = "127.0.0.1:5010";
  ShardId shard = {};  // SubscriberOptions.
  std::vector<BarSpec> bars = DefaultBars(DefaultSchemas());
  double publish_ms = 0;       // Publish interval; 0: see ServiceOptions.
  double publish_gap_ms = 20;  // Minimum time between two publications.
  bool read_log_file = true;   // False: the log is streamed over a connection.
  mem::TierOptions state;      // Tier of records and histories; not a persistent one.
  size_t history_bytes = 0;    // See EngineOptions; 0: no limit but the tier's.
  size_t max_message_bytes = size_t{256} << 20;  // Limit of a published upd.
  bool busy_poll = false;                        // Polls instead of sleeping: occupies a core.
};

// Runs until SIGTERM or SIGINT and returns 0; 1 if the tier does not open, or it could not listen.
// Blocks. Uses the calling thread, and one that touches a tier's memory in advance.
int RunAggEngine(const AggEngineMainOptions& options);

}  // namespace tickstack::aggengine
