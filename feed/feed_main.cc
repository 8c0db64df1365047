#include "feed/feed_main.h"

#include <fmt/ranges.h>

#include <algorithm>
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
#include "feed/sources/shard_source.h"
#include "serve/process_status.h"
#include "table/shard_id.h"
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

// Returns a state machine for each tickerplant, each with a source of its own.
absl::StatusOr<std::vector<FeedTarget>> TargetsOf(const FeedOptions& options,
                                                  FeedSettings settings) {
  const FeedShards& shards = options.shards;
  std::vector<FeedTarget> targets;
  if (shards.map == nullptr) {
    TS_ASSIGN_OR_RETURN(wire::Address address, wire::ParseAddress(options.tickerplant));
    TS_ASSIGN_OR_RETURN(std::unique_ptr<Source> source, options.source.chosen().Open());
    settings.name = NumberedName(options.name, options.source.chosen(), source->RowsId());
    targets.push_back(
        {{}, std::move(address), std::make_unique<Feed>(settings, std::move(source))});
    return targets;
  }
  for (size_t i = 0; i < shards.map->size(); ++i) {
    const auto& only = shards.only;
    const bool is_other = std::ranges::find(only, shards.map->shards()[i]) == only.end();
    if (!only.empty() && is_other) continue;
    TS_ASSIGN_OR_RETURN(wire::Address address, wire::ParseAddress(shards.tickerplants[i]));
    TS_ASSIGN_OR_RETURN(std::unique_ptr<Source> all, options.source.chosen().Open());
    if (all->live_input() != nullptr) {
      return InvalidArgument(
          "lines: a stack with shards cannot receive them; it can take the rows "
          "of another stack that does");
    }
    // With another map, row n of a shard is another row, so the rows have another name.
    settings.name = NameUnderMap(NumberedName(options.name, options.source.chosen(), all->RowsId()),
                                 DigestText(shards.map.get()));
    TS_ASSIGN_OR_RETURN(std::unique_ptr<Source> source,
                        ShardSource::Create(std::move(all), shards.map, i, shards.schemas));
    settings.shard = shards.map->shards()[i];
    targets.push_back(
        {settings.shard, std::move(address), std::make_unique<Feed>(settings, std::move(source))});
  }
  return targets;
}

absl::Status Run(FeedOptions options) {
  if (!(options.batch_ms >= 0 && options.batch_ms <= 60'000)) {
    return InvalidArgument("batch-ms {}: expected 0 to 60000", options.batch_ms);
  }
  const FeedSettings settings = {.instance = DrawInstance(),
                                 .take_over = options.take_over,
                                 .again = options.again,
                                 .waits_for_others = options.shards.map != nullptr,
                                 .batch_ns = static_cast<int64_t>(options.batch_ms * 1e6),
                                 .queue_bytes_max = options.queue_bytes,
                                 .window_rows = options.window_rows};

  TS_ASSIGN_OR_RETURN(std::vector<FeedTarget> targets, TargetsOf(options, settings));

  wire::EventLoop loop;
  bool stop = false;
  FeedService service(loop, std::move(targets));
  serve::ProcessStatus status({.role = "feed",
                               .name = options.name,
                               .metrics = Metrics(),
                               .facts = [&service] { return FactsOf(service); },
                               .reasons = ReasonsOf,
                               .limits = options.health});
  const wire::ServerOptions server_options = serve::LoopServerOptions(&status);
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<wire::Server> server,
                      wire::Listen(loop, options.listener, server_options, service.queries()));
  LogInfo("feed up port={} tickerplant={} name={} instance={} {}", server->port(),
          options.shards.map == nullptr
              ? options.tickerplant
              : fmt::format("{}", fmt::join(options.shards.tickerplants, ";")),
          service.feed().name(), settings.instance, service.feed().source().Describe());
  loop.OnStopSignal([&](int) { stop = true; });
  AskForShortSlices();
  const wire::Heartbeat heartbeat(loop, options.listener);
  if (options.start) service.Start();
  const auto over = [&] {
    if (stop) return true;
    size_t finished = 0;
    for (size_t i = 0; i < service.feeds(); ++i) {
      if (service.feed(i).taken_over()) return true;
      if (service.feed(i).finished()) ++finished;
    }
    return options.exit_when_done && (finished == service.feeds() || service.refused());
  };
  loop.RunUntil(over, options.busy_poll);
  server->StopAccepting();
  service.StopPublishing(kSendAtMost);
  loop.RunUntil([&] { return !service.connected(); }, kSendAtMost);
  absl::Status error;
  for (size_t i = 0; i < service.feeds(); ++i) {
    for (const auto& [table, rows] : service.feed(i).rows_sent()) {
      LogInfo("feed down table={} rows={}", table, rows);
    }
    error.Update(service.feed(i).error());
  }
  return error;
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
