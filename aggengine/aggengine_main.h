#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "aggengine/aggregate.h"
#include "mem/tier.h"
#include "wire/listener_options.h"

namespace tickstack::aggengine {

struct AggEngineMainOptions {
  std::string name = "aggengine";
  wire::ListenerOptions listener;  // Where `.agg.stats[]` is answered.
  std::string tickerplant = "127.0.0.1:5010";
  std::vector<BarSpec> bars;
  double publish_ms = 0;       // Publishes so often; 0: with what it receives,
  double publish_gap_ms = 20;  // but not sooner than this after the last time.
  bool read_log_file = true;   // Off: the log comes over the connection.
  mem::TierOptions state;      // Where the bars' records and histories live: not a persistent tier.
  size_t history_bytes = 0;  // Of the days' steps for means over time; 0: no bound but the tier's.
  size_t max_message_bytes = size_t{256} << 20;  // Of a published upd.
  bool busy_poll = false;                        // Never sleeps: takes a whole core.
};

// Runs until SIGTERM or SIGINT: 0. 1 if the tier does not open, or it could not listen. Blocks;
// uses the calling thread only, but for what touches a tier's memory ahead.
int RunAggEngine(const AggEngineMainOptions& options);

}  // namespace tickstack::aggengine
