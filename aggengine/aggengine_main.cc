#include "aggengine/aggengine_main.h"

#include <chrono>
#include <memory>

#include "aggengine/aggengine_metrics.h"
#include "aggengine/aggengine_service.h"
#include "aggengine/engine.h"
#include "base/heap.h"
#include "base/heap_trimmer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "serve/process_status.h"
#include "wire/address.h"
#include "wire/event_loop.h"
#include "wire/heartbeat.h"
#include "wire/server.h"

namespace tickstack::aggengine {
namespace {

using namespace std::chrono_literals;

// Heap that indices, messages and the like take in the first minute.
constexpr size_t kHeapBytes = size_t{16} << 20;
constexpr auto kPublishAtMost = 5s;  // The time that stopping gives to what is not answered yet.

absl::Status Run(AggEngineMainOptions options) {
  if (!(options.publish_ms >= 0 && options.publish_ms <= 3'600'000)) {
    return InvalidArgument("publish-ms {}: expected 0 to 3600000", options.publish_ms);
  }
  if (!(options.publish_gap_ms >= 0 && options.publish_gap_ms <= 3'600'000)) {
    return InvalidArgument("publish-gap-ms {}: expected 0 to 3600000", options.publish_gap_ms);
  }
  ServiceOptions service_options;
  TS_ASSIGN_OR_RETURN(service_options.subscriber.tickerplant,
                      wire::ParseAddress(options.tickerplant));
  service_options.subscriber.client.connection.max_message_bytes = options.max_message_bytes;
  service_options.subscriber.client.user = options.name;
  service_options.subscriber.client.is_link = true;
  service_options.subscriber.read_log_file = options.read_log_file;
  service_options.subscriber.shard = options.shard;
  service_options.publish_ns = static_cast<int64_t>(options.publish_ms * 1e6);
  service_options.gap_ns = static_cast<int64_t>(options.publish_gap_ms * 1e6);
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<mem::Tier> tier, mem::OpenTier(options.state));
  Engine engine({.bars = options.bars,
                 .history_bytes = options.history_bytes > 0 ? options.history_bytes : SIZE_MAX},
                tier.get(), &SystemClock::Instance());

  wire::EventLoop loop;
  bool stop = false;
  AggEngineService service(loop, service_options, &engine);
  serve::ProcessStatus status({.role = "aggengine",
                               .name = options.name,
                               .metrics = Metrics(),
                               .facts = [&engine] { return FactsOf(engine); },
                               .reasons = ReasonsOf,
                               .limits = options.health});
  const wire::ServerOptions server_options = serve::LoopServerOptions(&status);
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<wire::Server> server,
                      wire::Listen(loop, options.listener, server_options, service.queries()));
  AskForShortSlices();
  LogInfo("aggengine up port={} tickerplant={} bars={} publish_ms={} tier={} kind={}",
          server->port(), options.tickerplant, options.bars.size(), options.publish_ms,
          options.state.name, NameOf(options.state.kind));
  loop.OnStopSignal([&](int) { stop = true; });
  const wire::Heartbeat heartbeat(loop, options.listener);
  loop.RunUntil([&] { return stop; }, options.busy_poll);
  server->StopAccepting();
  service.StopAcceptingRows();
  loop.RunUntil([&] { return !service.has_unpublished(); }, kPublishAtMost);
  LogInfo("aggengine down rows_in={} rows_out={} rows_late={}", engine.counters().rows_in,
          engine.counters().rows_out, engine.counters().rows_late);
  return absl::OkStatus();
}

}  // namespace

int RunAggEngine(const AggEngineMainOptions& options) {
  KeepFreedMemory();
  TouchHeap(kHeapBytes);
  InitLogging(options.name);
  const HeapTrimmer trimmer;
  const absl::Status status = Run(options);
  if (!status.ok()) LogError("aggengine ends error=\"{}\"", Message(status));
  return status.ok() ? 0 : 1;
}

}  // namespace tickstack::aggengine
