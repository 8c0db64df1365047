#include "feed/feed_main.h"

#include <chrono>
#include <memory>
#include <random>

#include "base/heap.h"
#include "base/heap_trimmer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "feed/feed.h"
#include "feed/feed_metrics.h"
#include "feed/feed_service.h"
#include "serve/process_status.h"
#include "wire/address.h"
#include "wire/event_loop.h"
#include "wire/heartbeat.h"
#include "wire/server.h"

namespace tickstack::feed {
namespace {

using namespace std::chrono_literals;

constexpr auto kSendAtMost = 5s;  // When stopping: time to send the queue.

// Distinguishes this process from all others with its name. Not a secret.
std::string DrawInstance() {
  std::random_device random;
  std::string text;
  for (int i = 0; i < 4; ++i) text += fmt::format("{:08x}", random());
  return text;
}

absl::Status Run(FeedOptions options) {
  if (!(options.batch_ms >= 0 && options.batch_ms <= 60'000)) {
    return InvalidArgument("batch-ms {}: expected 0 to 60000", options.batch_ms);
  }
  TS_ASSIGN_OR_RETURN(const wire::Address tickerplant, wire::ParseAddress(options.tickerplant));
  TS_ASSIGN_OR_RETURN(std::unique_ptr<Source> source, options.source.chosen().Open());
  const FeedSettings settings = {.name = NumberedName(options.name, options.source.chosen()),
                                 .instance = DrawInstance(),
                                 .take_over = options.take_over,
                                 .batch_ns = static_cast<int64_t>(options.batch_ms * 1e6),
                                 .queue_bytes_max = options.queue_bytes,
                                 .window_rows = options.window_rows};

  wire::EventLoop loop;
  bool stop = false;
  FeedService service(loop, tickerplant, std::make_unique<Feed>(settings, std::move(source)));
  serve::ProcessStatus status({.role = "feed",
                               .name = options.name,
                               .metrics = Metrics(),
                               .facts = [&service] { return FactsOf(service); },
                               .reasons = ReasonsOf,
                               .limits = options.health});
  wire::ServerOptions server_options;
  server_options.http_options.status = &status;
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<wire::Server> server,
                      wire::Listen(loop, options.listener, server_options, service.queries()));
  LogInfo("feed up port={} tickerplant={} name={} instance={} {}", server->port(),
          tickerplant.ToString(), settings.name, settings.instance,
          service.feed().source().Describe());
  loop.OnStopSignal([&](int) { stop = true; });
  AskForShortSlices();
  const wire::Heartbeat heartbeat(loop, options.listener);
  if (options.start) service.Start();
  const auto over = [&] {
    const Feed& feed = service.feed();
    return stop || feed.taken_over() || (options.exit_when_done && feed.finished());
  };
  loop.RunUntil(over, options.busy_poll);
  server->StopAccepting();
  service.StopPublishing(kSendAtMost);
  loop.RunUntil([&] { return !service.connected(); }, kSendAtMost);
  for (const auto& [table, rows] : service.feed().rows_sent()) {
    LogInfo("feed down table={} rows={}", table, rows);
  }
  return service.feed().error();
}

}  // namespace

int RunFeed(const FeedOptions& options) {
  KeepFreedMemory();
  InitLogging(options.name);
  const HeapTrimmer trimmer;
  const absl::Status status = Run(options);
  if (!status.ok()) LogError("feed ends error=\"{}\"", Message(status));
  return status.ok() ? 0 : 1;
}

}  // namespace tickstack::feed
