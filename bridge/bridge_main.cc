#include "bridge/bridge_main.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <random>

#include "base/heap.h"
#include "base/heap_trimmer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "bridge/bridge_metrics.h"
#include "bridge/export_service.h"
#include "bridge/import_service.h"
#include "serve/loop_queries.h"
#include "serve/process_status.h"
#include "wire/address.h"
#include "wire/event_loop.h"
#include "wire/heartbeat.h"
#include "wire/server.h"

namespace tickstack::bridge {
namespace {

using namespace std::chrono_literals;

constexpr auto kSendAtMost = 5s;  // When stopping: time to send the queue.
constexpr size_t kPrefixMax = 150;

bool IsExport(const BridgeOptions& options) { return options.direction == "to-kafka"; }

// Distinguishes this process from all others. Not a secret.
std::string DrawBridgeInstance() {
  std::random_device random;
  std::string text;
  for (int i = 0; i < 4; ++i) text += fmt::format("{:08x}", random());
  return text;
}

absl::StatusOr<ExportOptions> ExportOptionsOf(const BridgeOptions& options,
                                              const wire::ClientOptions& client) {
  ExportOptions made;
  TS_ASSIGN_OR_RETURN(made.subscriber.tickerplant, wire::ParseAddress(options.tickerplant));
  made.subscriber.client = client;
  made.subscriber.read_log_file = options.read_log_file;
  made.exporter.tables = options.tables;
  made.exporter.batch_bytes = options.batch_bytes;
  made.writer.kafka = {.brokers = options.brokers, .settings = options.kafka_settings};
  made.writer.prefix = options.prefix;
  made.writer.partitions = options.partitions;
  made.writer.replication = options.replication;
  TS_ASSIGN_OR_RETURN(made.writer.payload, ParsePayload(options.payload));
  made.writer.instance = DrawBridgeInstance();
  made.linger_ns = static_cast<int64_t>(options.linger_ms * 1e6);
  return made;
}

absl::StatusOr<ImportOptions> ImportOptionsOf(const BridgeOptions& options,
                                              const wire::ClientOptions& client) {
  ImportOptions made;
  TS_ASSIGN_OR_RETURN(made.tickerplant, wire::ParseAddress(options.tickerplant));
  made.client = client;
  made.kafka = {.brokers = options.brokers, .settings = options.kafka_settings};
  made.name = options.name;
  made.instance = DrawBridgeInstance();
  made.prefix = options.prefix;
  made.tables = options.tables;
  made.shard = options.shard;
  TS_ASSIGN_OR_RETURN(made.from, ParseReadStart(options.from));
  made.start_file = fmt::format("{}/bridge/{}.starts", options.data, options.name);
  made.window_rows = options.window_rows;
  return made;
}

// Listens, and runs until the process is stopped or `ended` is an error.
absl::Status Serve(BridgeOptions& options, wire::EventLoop& loop,
                   const std::function<Value()>& stats,
                   const std::function<absl::Status()>& ended) {
  bool stop = false;
  serve::LoopQueries queries(&loop.clock(), {{".bridge.stats", [&] { return stats(); },
                                              serve::LoopQueries::Effect::kReads}});
  serve::ProcessStatus status({.role = "bridge",
                               .name = options.name,
                               .metrics = Metrics(),
                               .facts = [&] { return FactsOf(stats()); },
                               .reasons = ReasonsOf,
                               .limits = options.health});
  const wire::ServerOptions server_options = serve::LoopServerOptions(&status);
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<wire::Server> server,
                      wire::Listen(loop, options.listener, server_options, &queries));
  LogInfo("bridge up port={} tickerplant={} direction={} brokers={} prefix={}", server->port(),
          options.tickerplant, options.direction, options.brokers, options.prefix);
  loop.OnStopSignal([&](int) { stop = true; });
  AskForShortSlices();
  const wire::Heartbeat heartbeat(loop, options.listener);
  loop.RunUntil([&] { return stop || !ended().ok(); }, /*busy_poll=*/false);
  server->StopAccepting();
  return ended();
}

absl::Status Run(BridgeOptions options) {
  TS_RETURN_IF_ERROR(CheckBridgeOptions(options));
  wire::ClientOptions client;
  client.user = options.name;
  client.is_link = true;
  client.connection.max_message_bytes = options.max_message_bytes;
  wire::EventLoop loop;
  if (IsExport(options)) {
    TS_ASSIGN_OR_RETURN(ExportOptions export_options, ExportOptionsOf(options, client));
    ExportService service(loop, std::move(export_options));
    const absl::Status ended =
        Serve(options, loop, [&] { return service.Stats(); }, [&] { return service.ended(); });
    LogInfo("bridge down rows_written={}", service.written().rows.load());
    return ended;
  }
  TS_ASSIGN_OR_RETURN(ImportOptions import_options, ImportOptionsOf(options, client));
  ImportService service(loop, std::move(import_options));
  const absl::Status ended =
      Serve(options, loop, [&] { return service.Stats(); }, [&] { return service.ended(); });
  service.Stop(kSendAtMost);
  loop.RunUntil([&] { return !service.connected(); }, kSendAtMost);
  LogInfo("bridge down rows_logged={}", service.rows_logged());
  return ended;
}

}  // namespace

absl::Status CheckBridgeOptions(const BridgeOptions& options) {
  if (!IsExport(options) && options.direction != "from-kafka") {
    return InvalidArgument("direction {}: expected to-kafka or from-kafka", options.direction);
  }
  const bool is_topic_name = std::ranges::all_of(options.prefix, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
  if (options.prefix.empty() || options.prefix.size() > kPrefixMax || !is_topic_name) {
    return InvalidArgument("prefix '{}': expected 1 to {} letters, digits, `.`, `_` or `-`",
                           options.prefix, kPrefixMax);
  }
  if (const auto own = std::ranges::find_if(options.tables, IsOwnTopic);
      own != options.tables.end()) {
    return InvalidArgument("tables: {} is a topic of the bridge itself", *own);
  }
  if (!(options.linger_ms >= 0 && options.linger_ms <= 60'000)) {
    return InvalidArgument("linger-ms {}: expected 0 to 60000", options.linger_ms);
  }
  TS_RETURN_IF_ERROR(ParsePayload(options.payload).status());
  TS_RETURN_IF_ERROR(ParseReadStart(options.from).status());
  return kafka::CheckKafkaOptions({.brokers = options.brokers, .settings = options.kafka_settings});
}

int RunBridge(const BridgeOptions& options) {
  KeepFreedMemory();
  InitLogging(options.name);
  const HeapTrimmer trimmer;
  const absl::Status status = Run(options);
  if (!status.ok()) LogError("bridge ends error=\"{}\"", Message(status));
  return status.ok() ? 0 : 1;
}

}  // namespace tickstack::bridge
