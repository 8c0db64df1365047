#pragma once

// The process of the gateway: its options, and the function that the command line calls.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/name_map.h"
#include "gateway/watch.h"
#include "serve/health.h"
#include "serve/query_settings.h"
#include "table/shard_map.h"
#include "wire/listener_options.h"

namespace tickstack::gateway {

// The processes behind one tickerplant: addresses.
struct Shard {
  std::string name;
  std::vector<std::string> rdbs, urgent_rdbs, hdbs;  // As those of GatewayMainOptions.
};

struct GatewayMainOptions : serve::QuerySettings {
  GatewayMainOptions() {
    query_threads = 16;  // They mostly wait for answers.
    query_nice = 0;
  }

  std::string name = "gateway";
  wire::ListenerOptions listener;
  serve::HealthLimits health;
  std::vector<std::string> rdbs;  // Addresses; their answers are the same.
  // Rdbs for questions of `urgent_users`; the others go to `rdbs`. Each is asked for both if there
  // is no other.
  std::vector<std::string> urgent_rdbs;
  std::vector<std::string> urgent_users;
  std::vector<std::string> hdbs;
  // Symbols are spread over several tickerplants (table/shard_map.h). Then `rdbs`, `urgent_rdbs`
  // and `hdbs` are empty.
  std::vector<Shard> shards;
  NameMap<std::string> shard_symbols;  // Name of the shard by symbol.
  double hedge_ms = 250;               // See ReplicaOptions::hedge_ns.
};

// kInvalidArgument if the shards cannot give right answers: one has no name, only some have rdbs or
// hdbs, or two have a process in common, whose rows would count twice. OK without shards.
absl::Status CheckShards(const GatewayMainOptions& options);

// What GatewayEnvironment asks.
struct ProcessesBehind {
  std::vector<ShardReplicas> shards;
  std::optional<ShardMap> map;  // nullopt: there are no shards.
};

// Errors: those of CheckShards; kInvalidArgument if options contradict each other.
absl::StatusOr<ProcessesBehind> ProcessesOf(const GatewayMainOptions& options);

// Runs until SIGTERM or SIGINT and returns 0; 1 if it could not listen. Processes that do not
// answer are asked again with each request. Blocks.
int RunGateway(const GatewayMainOptions& options);

}  // namespace tickstack::gateway
