#include "gateway/gateway_main.h"

#include <memory>
#include <vector>

#include "base/heap_trimmer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "gateway/gateway_environment.h"
#include "gateway/gateway_metrics.h"
#include "gateway/replicas.h"
#include "serve/query_service.h"
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

absl::Status Run(GatewayMainOptions options) {
  if (options.rdbs.empty() && options.urgent_rdbs.empty() && options.hdbs.empty()) {
    return InvalidArgument("rdbs and hdbs: none, expected at least one process to ask");
  }
  if (options.urgent_rdbs.empty() != options.urgent_users.empty()) {
    return InvalidArgument("urgent_rdbs and urgent_users: found one, expected both or none");
  }
  if (!(options.hedge_ms >= 0 && options.hedge_ms <= 3'600'000)) {
    return InvalidArgument("hedge-ms {}: expected 0 to 3600000", options.hedge_ms);
  }
  ReplicaOptions asking{.hedge_ns = static_cast<int64_t>(options.hedge_ms * 1e6),
                        .urgent_users = options.urgent_users};
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<Replicas> past,
                      ReplicasOf("hdb", options.hdbs, {}, asking));
  asking.link.ready_question = "1=.rdb.stats[]`caught_up";
  asking.link.not_ready = "it has not read its whole log yet";
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<Replicas> last,
                      ReplicasOf("rdb", options.rdbs, options.urgent_rdbs, asking));
  GatewayEnvironment environment(last.get(), past.get(), &SystemClock::Instance());
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
  LogInfo("gateway up port={} rdbs={} hdbs={} query_threads={}", service->port(),
          options.rdbs.size() + options.urgent_rdbs.size(), options.hdbs.size(),
          options.query_threads);
  const wire::Heartbeat heartbeat(loop, options.listener);
  loop.RunUntil([&] { return stop; }, false);
  LogInfo("gateway down queries={}", environment.queries().queries.load());
  return absl::OkStatus();
}

}  // namespace

int RunGateway(const GatewayMainOptions& options) {
  InitLogging(options.name);
  const HeapTrimmer trimmer;
  const absl::Status status = Run(options);
  if (!status.ok()) LogError("gateway ends error=\"{}\"", Message(status));
  return status.ok() ? 0 : 1;
}

}  // namespace tickstack::gateway
