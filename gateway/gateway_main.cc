#include "gateway/gateway_main.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/heap_trimmer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/string_map.h"
#include "base/time.h"
#include "gateway/gateway_environment.h"
#include "gateway/gateway_metrics.h"
#include "gateway/replicas.h"
#include "serve/query_service.h"
#include "table/shard_id.h"
#include "table/shard_map.h"
#include "table/value.h"
#include "wire/address.h"
#include "wire/event_loop.h"
#include "wire/heartbeat.h"

namespace tickstack::gateway {
namespace {

absl::StatusOr<std::vector<wire::Address>> AddressesOf(const std::vector<std::string>& texts) {
  std::vector<wire::Address> addresses;
  for (const std::string& text : texts) {
    TS_ASSIGN_OR_RETURN(addresses.emplace_back(), wire::ParseAddress(text));
  }
  return addresses;
}

// Returns nullptr if there are no addresses.
absl::StatusOr<std::unique_ptr<Replicas>> ReplicasOf(std::string name,
                                                     const std::vector<std::string>& texts,
                                                     const std::vector<std::string>& urgent_texts,
                                                     const ReplicaOptions& options) {
  if (texts.empty() && urgent_texts.empty()) return nullptr;
  TS_ASSIGN_OR_RETURN(const std::vector<wire::Address> addresses, AddressesOf(texts));
  TS_ASSIGN_OR_RETURN(const std::vector<wire::Address> urgent, AddressesOf(urgent_texts));
  return std::make_unique<Replicas>(std::move(name), addresses, urgent, options);
}

// The question of each new connection to an rdb: whether it has read its log, and is the shard.
Value RdbQuestion(const ShardId& shard) {
  std::vector<Value> call;
  call.push_back(Value::String(
      "{[shard;other]$[1<>.rdb.stats[]`caught_up;\"it has not read its whole log yet\";"
      "0=count other;1b;shard~.u.shard[];1b;other]}"));
  call.push_back(AnswerOf(shard));
  call.push_back(Value::String(shard.map.empty() ? std::string()
                                                 : fmt::format("it is not {}", Describe(shard))));
  return Value::List(std::move(call));
}

absl::StatusOr<ShardReplicas> ShardReplicasOf(const Shard& shard, const ShardMap* map,
                                              const ReplicaOptions& asking) {
  if (shard.rdbs.empty() && shard.urgent_rdbs.empty() && shard.hdbs.empty()) {
    return InvalidArgument("{}rdbs and hdbs: none, expected at least one process to ask",
                           shard.name.empty() ? "" : "shard " + shard.name + ": ");
  }
  const auto name_of = [&shard](const char* side) {
    return shard.name.empty() ? side : fmt::format("shard {}: {}", shard.name, side);
  };
  ShardReplicas replicas;
  replicas.id = {shard.name, DigestText(map)};
  TS_ASSIGN_OR_RETURN(replicas.past, ReplicasOf(name_of("hdb"), shard.hdbs, {}, asking));
  ReplicaOptions asking_rdbs = asking;
  asking_rdbs.link.ready_question = RdbQuestion(replicas.id);
  TS_ASSIGN_OR_RETURN(replicas.last,
                      ReplicasOf(name_of("rdb"), shard.rdbs, shard.urgent_rdbs, asking_rdbs));
  return replicas;
}

// Returns nullopt if there are no shards.
absl::StatusOr<std::optional<ShardMap>> MapOf(const GatewayMainOptions& options) {
  if (options.shards.empty()) return std::nullopt;
  TS_RETURN_IF_ERROR(CheckShards(options));
  std::vector<std::string> names;
  for (const Shard& shard : options.shards) names.push_back(shard.name);
  TS_ASSIGN_OR_RETURN(ShardMap map, ShardMap::Create(std::move(names), options.shard_symbols));
  return map;
}

absl::Status Run(GatewayMainOptions options) {
  TS_ASSIGN_OR_RETURN(ProcessesBehind behind, ProcessesOf(options));
  size_t shards = 0, rdbs = 0, hdbs = 0;
  for (const ShardReplicas& shard : behind.shards) {
    ++shards;
    rdbs += shard.last == nullptr ? 0 : shard.last->size();
    hdbs += shard.past == nullptr ? 0 : shard.past->size();
  }
  GatewayEnvironment environment(std::move(behind.shards), std::move(behind.map),
                                 &SystemClock::Instance());
  environment.facts().SetLimits(options);
  wire::EventLoop loop;
  bool stop = false;
  loop.OnStopSignal([&](int) { stop = true; });
  serve::ProcessStatus status(StatusOf(options, environment));
  serve::QueryServiceOptions service_options = serve::ServiceOptionsOf(options, options.listener);
  service_options.status = &status;
  TS_ASSIGN_OR_RETURN(
      const std::unique_ptr<serve::QueryService> service,
      serve::QueryService::Start(service_options, &environment, &environment.queries()));
  environment.facts().SetPort(service->port());
  LogInfo("gateway up port={} shards={} rdbs={} hdbs={} query_threads={}", service->port(), shards,
          rdbs, hdbs, options.query_threads);
  const wire::Heartbeat heartbeat(loop, options.listener);
  loop.RunUntil([&] { return stop; }, false);
  LogInfo("gateway down queries={}", environment.queries().queries.load());
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckShards(const GatewayMainOptions& options) {
  if (options.shards.empty()) return absl::OkStatus();
  if (!options.rdbs.empty() || !options.urgent_rdbs.empty() || !options.hdbs.empty()) {
    return InvalidArgument("rdbs, urgent_rdbs and hdbs: expected those of each shard only");
  }
  const auto has_rdbs = [](const Shard& shard) {
    return !shard.rdbs.empty() || !shard.urgent_rdbs.empty();
  };
  const Shard& first = options.shards.front();
  StringMap<std::string> shard_of;  // By address.
  size_t position = 0;
  for (const Shard& shard : options.shards) {
    ++position;
    if (shard.name.empty()) return InvalidArgument("shard {}: it has no name", position);
    // Otherwise the rows of this shard would be missing.
    if (has_rdbs(shard) != has_rdbs(first)) {
      return InvalidArgument("shards {} and {}: only one has rdbs", first.name, shard.name);
    }
    if (shard.hdbs.empty() != first.hdbs.empty()) {
      return InvalidArgument("shards {} and {}: only one has hdbs", first.name, shard.name);
    }
    for (const auto* const texts : {&shard.rdbs, &shard.urgent_rdbs, &shard.hdbs}) {
      for (const std::string& text : *texts) {
        TS_ASSIGN_OR_RETURN(wire::Address address, wire::ParseAddress(text));
        address.tls = false;
        address.others.clear();
        if (address.host == "localhost") address.host = "127.0.0.1";
        const auto [found, is_new] = shard_of.try_emplace(address.ToString(), shard.name);
        if (is_new || found->second == shard.name) continue;
        return InvalidArgument("shards {} and {}: both have {}, expected processes of their own",
                               found->second, shard.name, text);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<ProcessesBehind> ProcessesOf(const GatewayMainOptions& options) {
  std::vector<Shard> shards = options.shards;
  ProcessesBehind behind;
  TS_ASSIGN_OR_RETURN(behind.map, MapOf(options));
  if (!behind.map) shards.push_back({"", options.rdbs, options.urgent_rdbs, options.hdbs});
  const bool has_urgent =
      std::ranges::any_of(shards, [](const Shard& shard) { return !shard.urgent_rdbs.empty(); });
  if (has_urgent == options.urgent_users.empty()) {
    return InvalidArgument("urgent_rdbs and urgent_users: found one, expected both or none");
  }
  if (!(options.hedge_ms >= 0 && options.hedge_ms <= 3'600'000)) {
    return InvalidArgument("hedge-ms {}: expected 0 to 3600000", options.hedge_ms);
  }
  const ReplicaOptions asking{.hedge_ns = static_cast<int64_t>(options.hedge_ms * 1e6),
                              .urgent_users = options.urgent_users};
  for (const Shard& shard : shards) {
    TS_ASSIGN_OR_RETURN(behind.shards.emplace_back(),
                        ShardReplicasOf(shard, behind.map ? &*behind.map : nullptr, asking));
  }
  return behind;
}

int RunGateway(const GatewayMainOptions& options) {
  InitLogging(options.name);
  const HeapTrimmer trimmer;
  const absl::Status status = Run(options);
  if (!status.ok()) LogError("gateway ends error=\"{}\"", Message(status));
  return status.ok() ? 0 : 1;
}

}  // namespace tickstack::gateway
