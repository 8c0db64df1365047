#include "tickerplant/tickerplant_main.h"

#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/file.h"
#include "base/heap.h"
#include "base/heap_trimmer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "kafka/kafka_topic.h"
#include "serve/process_status.h"
#include "tickerplant/chained/upstream.h"
#include "tickerplant/cluster/cluster_member.h"
#include "tickerplant/cluster/etcd_store.h"
#include "tickerplant/day_clock.h"
#include "tickerplant/left_logs.h"
#include "tickerplant/succession.h"
#include "tickerplant/tables_text.h"
#include "tickerplant/tickerplant.h"
#include "tickerplant/tickerplant_metrics.h"
#include "tickerplant/tickerplant_service.h"
#include "tickerplant/topic/topic_member.h"
#include "wire/event_loop.h"
#include "wire/heartbeat.h"
#include "wire/server.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;

constexpr size_t kHeapBytes = size_t{16} << 20;  // Memory for some batches and their readers.
constexpr auto kQuiet = 50ms;      // At shutdown, feeds are done after this time without a message.
constexpr auto kDrainAtMost = 5s;  // At shutdown, feeds are done after this time in any case.
constexpr size_t kMiB = size_t{1} << 20;
constexpr auto kSendAtMost = 5s;     // Time for subscribers to read the rest.
constexpr auto kNoteLogged = 100ms;  // A leader notes this often up to where it has logged rows.

// Takes what feeds have already sent, then lets subscribers finish.
absl::Status Drain(wire::EventLoop& loop, wire::Server& server, TickerplantService& service) {
  server.StopAccepting();
  const auto deadline = std::chrono::steady_clock::now() + kDrainAtMost;
  uint64_t seen = service.messages_seen();
  while (std::chrono::steady_clock::now() < deadline) {
    loop.RunUntil([] { return false; }, kQuiet);
    if (std::exchange(seen, service.messages_seen()) == service.messages_seen() &&
        !service.tickerplant().has_staged())
      break;
  }
  const absl::Status closed = service.Close();
  // Subscribers that are behind get the rest of the log, as far as they read it in time.
  loop.RunUntil([&] { return service.tickerplant().catch_up().size() == 0; }, kSendAtMost);
  for (const auto& connection : server.Connections()) connection->CloseWhenSent(kSendAtMost);
  loop.RunUntil([&] { return server.Connections().empty(); }, kSendAtMost);
  return closed;
}

bool IsChained(const TickerplantMainOptions& options) { return !options.upstream.empty(); }

absl::Status CheckTimes(const TickerplantMainOptions& options) {
  constexpr double kMsMin = 1e-3, kMsMax = 24 * 3600 * 1e3;
  const double batch_ms = options.batch_ms, phase_ms = options.batch_phase_ms.value_or(0);
  if (batch_ms != 0 && !(batch_ms >= kMsMin && batch_ms <= kMsMax)) {
    return InvalidArgument("batch-ms {}: expected 0, or {} to {:.0f}", batch_ms, kMsMin, kMsMax);
  }
  if (!(phase_ms >= 0 && phase_ms <= kMsMax)) {
    return InvalidArgument("batch-phase-ms {}: expected 0 to {:.0f}", phase_ms, kMsMax);
  }
  if (!(options.poll_ms >= kMsMin && options.poll_ms <= kMsMax)) {
    return InvalidArgument("poll-ms {}: expected {} to {:.0f}", options.poll_ms, kMsMin, kMsMax);
  }
  if (options.stall_max_ns < 0) {
    return InvalidArgument("stall-max {} ns: expected 0 or more", options.stall_max_ns);
  }
  return absl::OkStatus();
}

TickerplantOptions PlantOptions(const TickerplantMainOptions& options) {
  TickerplantOptions plant;
  plant.schemas = options.schemas;
  plant.log_directory = options.data + "/tplog";
  plant.log_name = options.log_name;
  plant.log.fsync = options.fsync;
  plant.log.fsync_interval_ms = options.fsync_interval_ms;
  plant.log.cache_bytes = options.log_cache_bytes;
  plant.log.lock_wait = kLockWaitAtStart;
  plant.batch = options.batch_ms > 0;
  plant.at_once = options.at_once;
  plant.publish_bytes = options.batch_bytes;
  plant.follows_upstream = IsChained(options);
  plant.shard = options.shard;
  plant.live_queue_bytes = std::min(options.live_queue_bytes, options.max_queue_bytes / 2);
  return plant;
}

ShardId IdOf(const TickerplantOptions& plant) {
  return tickstack::IdOf(plant.shard.map.get(), plant.shard.index);
}

// Refuses another shard or map than that of the day to continue, and rows that the stack has left
// behind.
absl::Status CheckShards(const TickerplantMainOptions& options, const DayClock& day,
                         const Clock* clock, TickerplantOptions& plant) {
  if (IsChained(options)) return absl::OkStatus();
  TS_ASSIGN_OR_RETURN(const std::string log, Tickerplant::LogToOpen(plant, day, clock));
  TS_RETURN_IF_ERROR(CheckShard(ShardFileOf(plant.log_directory, plant.log_name), log, IdOf(plant),
                                options.take_over));
  // The data directory of a shard is a folder in that of the stack.
  const std::filesystem::path data = options.data;
  const ShardMap* const map = plant.shard.map.get();
  const std::string of_stack = map == nullptr ? data : data.parent_path();
  TS_ASSIGN_OR_RETURN(plant.shard.left_rows,
                      ReadLeftLogs(of_stack.empty() ? "." : of_stack, plant.log_name, map));
  return absl::OkStatus();
}

BatchClock BatchClockOf(const TickerplantMainOptions& options) {
  const auto to_ns = [](double ms) { return static_cast<int64_t>(ms * 1e6); };
  std::optional<int64_t> phase_ns;
  if (options.batch_phase_ms) phase_ns = to_ns(*options.batch_phase_ms);
  return {to_ns(options.batch_ms), phase_ns, SystemClock::Instance().NowNs()};
}

serve::ProcessStatus StatusOf(const TickerplantMainOptions& options,
                              const TickerplantService& service) {
  return serve::ProcessStatus({.role = IsChained(options) ? "chained" : "tickerplant",
                               .name = options.name,
                               .metrics = IsChained(options) ? ChainedMetrics() : Metrics(),
                               .facts = [&service] { return FactsOf(service); },
                               .reasons = ReasonsOf,
                               .disks = {{"log", options.data + "/tplog"}},
                               .limits = options.health});
}

wire::ServerOptions ServerOptionsOf(const TickerplantMainOptions& options) {
  wire::ServerOptions server;
  server.connection.max_queue_bytes = options.max_queue_bytes;
  server.connection.max_message_bytes = options.max_message_bytes;
  return server;
}

serve::ProcessStatus StandbyStatusOf(const TickerplantMainOptions& options,
                                     const ClusterRole& member) {
  return serve::ProcessStatus({.role = "standby",
                               .name = options.name,
                               .metrics = StandbyMetrics(),
                               .facts = [&member] { return FactsOfStandby(member.Stats()); },
                               .reasons = StandbyReasonsOf,
                               .disks = {{"log", options.data + "/tplog"}},
                               .limits = options.health});
}

// A standby that owes the largest messages is no slow reader.
absl::Status CheckSizes(const TickerplantMainOptions& options) {
  if (options.max_message_bytes > kReplicaBlockBytesMax / 2) {
    return InvalidArgument("max_message_bytes {}: with standbys at most {}",
                           options.max_message_bytes, kReplicaBlockBytesMax / 2);
  }
  if (options.replication.etcd.empty()) return absl::OkStatus();
  const size_t largest_block = options.max_message_bytes + CommitGate::kBlockBytes;
  const size_t needed = largest_block + Standbys::kInFlightBytes + Standbys::kWindowBytes + kMiB;
  if (options.max_queue_bytes < needed) {
    return InvalidArgument(
        "max_queue_bytes {}: with standbys at least {}, for the largest message and what is in "
        "flight",
        options.max_queue_bytes, needed);
  }
  return absl::OkStatus();
}

std::string NameOfCluster(const ReplicationOptions& replication) {
  return replication.etcd.empty() ? "kafka:" + replication.kafka.topic : replication.cluster;
}

// What makes a member of a cluster.
struct Membership {
  std::unique_ptr<EtcdStore> store;  // nullptr: its log is in a topic.
  std::unique_ptr<ClusterRole> role;
};

absl::StatusOr<Membership> JoinCluster(wire::EventLoop& loop, const TickerplantMainOptions& options,
                                       StandbyLogOptions log, std::function<void()> on_elected,
                                       std::function<void(absl::Status)> on_end) {
  const ReplicationOptions& replication = options.replication;
  Membership made;
  if (!replication.kafka.topic.empty()) {
    TopicMemberOptions member{options.name,
                              replication.advertise,
                              replication.lease_ns,
                              replication.first_leader,
                              log.shard,
                              log.tables};
    TS_ASSIGN_OR_RETURN(made.role, TopicMember::Start(
                                       loop, std::move(member), std::move(log),
                                       [&](kafka::RecordTopic::Events events) {
                                         return kafka::KafkaTopic::Open(loop, replication.kafka,
                                                                        std::move(events));
                                       },
                                       std::move(on_elected), std::move(on_end)));
    return made;
  }
  TS_ASSIGN_OR_RETURN(
      made.store,
      EtcdStore::Open(
          loop,
          {replication.etcd, fmt::format("/tickstack/{}/leadership", replication.cluster),
           std::chrono::milliseconds(replication.lease_ns / 4'000'000), replication.etcd_files}));
  TS_ASSIGN_OR_RETURN(
      made.role, ClusterMember::Start(loop, options.name, replication, std::move(log),
                                      made.store.get(), std::move(on_elected), std::move(on_end)));
  return made;
}

// Runs a member of a cluster: a standby until it is elected, then the leader. Returns the exit
// code: 1 also if it leads no longer, so that the supervisor starts it again, as a standby.
absl::StatusOr<int> RunMember(TickerplantMainOptions options) {
  TS_RETURN_IF_ERROR(CheckSizes(options));
  const Clock& clock = SystemClock::Instance();
  TickerplantOptions plant = PlantOptions(options);
  plant.is_member = true;
  TS_ASSIGN_OR_RETURN(const DayClock day,
                      DayClock::Create(options.time_zone, options.roll_offset_ns, options.date));
  TS_RETURN_IF_ERROR(CheckShards(options, day, &clock, plant));
  wire::EventLoop loop;
  bool stop = false, elected = false;
  absl::Status failure;
  const auto end = [&](absl::Status why) {
    if (failure.ok()) failure = std::move(why);
    stop = true;
  };
  TS_ASSIGN_OR_RETURN(const Membership membership,
                      JoinCluster(
                          loop, options,
                          {plant.log_directory, plant.log_name, plant.log, IdOf(plant),
                           TablesText(options.schemas)},
                          [&] { elected = true; }, end));
  ClusterRole* const member = membership.role.get();
  // The member has the log's lock now, and appends rows before it is elected.
  TS_ASSIGN_OR_RETURN(const std::string log, Tickerplant::LogToOpen(plant, day, &clock));
  TS_ASSIGN_OR_RETURN(const bool has_rows, HasRows(log));
  TS_RETURN_IF_ERROR(
      SettleShard(ShardFileOf(plant.log_directory, plant.log_name), log, has_rows, IdOf(plant)));
  loop.OnStopSignal([&](int) { stop = true; });
  AskForShortSlices();
  const wire::Heartbeat heartbeat(loop, options.listener);
  // The standby's server ends with its sockets, and the leader's needs them.
  wire::ListenerOptions of_leader = options.listener;
  for (int* const fd : {&of_leader.listen_fd, &of_leader.unix_listen_fd}) {
    if (*fd >= 0) *fd = ::fcntl(*fd, F_DUPFD_CLOEXEC, 0);
  }
  {
    serve::ProcessStatus status = StandbyStatusOf(options, *member);
    wire::ServerOptions server_options = ServerOptionsOf(options);
    server_options.http_options.status = &status;
    TS_ASSIGN_OR_RETURN(const std::unique_ptr<wire::Server> server,
                        wire::Listen(loop, options.listener, server_options, member));
    LogInfo("standby up port={} cluster={}", server->port(), NameOfCluster(options.replication));
    loop.RunUntil([&] { return stop || elected; }, options.busy_poll);
  }
  if (stop) {
    const absl::Status stopped = member->Stop();
    TS_RETURN_IF_ERROR(failure);
    TS_RETURN_IF_ERROR(stopped);
    LogInfo("standby down");
    return 0;
  }
  absl::StatusOr<std::unique_ptr<Tickerplant>> tickerplant =
      Tickerplant::Open(plant, day, &clock, member->TakeLog());
  if (!tickerplant.ok()) {
    member->Stop().IgnoreError();  // Another member may have no such error.
    return tickerplant.status();
  }
  TickerplantService service(loop, *std::move(tickerplant), BatchClockOf(options), end);
  member->Lead(service);
  wire::Timer note_timer(loop);
  note_timer.Every(kNoteLogged, [&] { member->NoteLogged(service.logged()); });
  service.set_stall_max(std::chrono::nanoseconds(options.stall_max_ns));
  serve::ProcessStatus status = StatusOf(options, service);
  wire::ServerOptions server_options = ServerOptionsOf(options);
  server_options.http_options.status = &status;
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<wire::Server> server,
                      wire::Listen(loop, of_leader, server_options, &service));
  LogInfo("tickerplant up port={} batch_ms={} date={} tables={} fsync={} epoch={}", server->port(),
          options.batch_ms, FormatDate(service.tickerplant().date()), options.schemas.size(),
          static_cast<int>(options.fsync), service.epoch());
  loop.RunUntil([&] { return stop; }, options.busy_poll);
  member->NoteLogged(service.logged());
  TS_RETURN_IF_ERROR(failure);
  const absl::Status drained = Drain(loop, *server, service);
  member->NoteLogged(service.logged());
  const absl::Status resigned = member->Stop();
  LogInfo("tickerplant down seq={} rows={}", service.tickerplant().logged_seq(),
          service.tickerplant().counters().rows);
  TS_RETURN_IF_ERROR(drained);
  TS_RETURN_IF_ERROR(resigned);
  return 0;
}

// Returns the exit code.
absl::StatusOr<int> Run(TickerplantMainOptions options) {
  TS_RETURN_IF_ERROR(CheckTimes(options));
  if (options.replication.is_member()) return RunMember(std::move(options));
  const Clock& clock = SystemClock::Instance();
  TickerplantOptions plant = PlantOptions(options);
  UpstreamOptions upstream;
  std::optional<int32_t> date = options.date;
  if (IsChained(options)) {
    upstream.symbols = options.symbols;
    upstream.all_tables = options.all_tables;
    upstream.poll_ns = static_cast<int64_t>(options.poll_ms * 1e6);
    TS_ASSIGN_OR_RETURN(upstream.address, wire::ParseAddress(options.upstream));
    TS_ASSIGN_OR_RETURN(date, DayToFollow(plant, upstream, &clock));
  }
  TS_ASSIGN_OR_RETURN(DayClock day,
                      DayClock::Create(options.time_zone, options.roll_offset_ns, date));
  TS_RETURN_IF_ERROR(CheckShards(options, day, &clock, plant));
  std::unique_ptr<wire::TakeOver> taken;  // nullptr: this takes nobody's place.
  if (options.take_over) {
    TS_ASSIGN_OR_RETURN(taken, TakePlace(plant, day, &clock, options.listener));
  }
  TS_ASSIGN_OR_RETURN(std::unique_ptr<Tickerplant> tickerplant,
                      Tickerplant::Open(std::move(plant), day, &clock));

  wire::EventLoop loop;
  bool stop = false, handed_over = false;
  absl::Status failure;
  const BatchClock batches = BatchClockOf(options);
  TickerplantService service(loop, std::move(tickerplant), batches, [&](absl::Status why) {
    failure = std::move(why);
    stop = true;
  });
  if (IsChained(options)) TS_RETURN_IF_ERROR(service.Follow(upstream));
  service.set_stall_max(std::chrono::nanoseconds(options.stall_max_ns));
  wire::ServerOptions server_options = ServerOptionsOf(options);
  serve::ProcessStatus status = StatusOf(options, service);
  server_options.http_options.status = &status;
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<wire::Server> server,
                      wire::Listen(loop, options.listener, server_options, &service));
  LogInfo("tickerplant up port={} batch_ms={} date={} tables={} fsync={}", server->port(),
          options.batch_ms, FormatDate(service.tickerplant().date()), options.schemas.size(),
          static_cast<int>(options.fsync));
  loop.OnStopSignal([&](int) { stop = true; });
  AskForShortSlices();
  const wire::Heartbeat heartbeat(loop, options.listener);
  Holder holder(server.get(), &service, [&](const absl::Status& how) {
    failure = how;
    stop = handed_over = true;
  });
  if (taken != nullptr) {
    taken->Confirm();
    holder.OfferAfter(loop, std::move(taken));
  } else if (!IsChained(options)) {
    holder.Offer(loop);
  }
  loop.RunUntil([&] { return stop; }, options.busy_poll);
  TS_RETURN_IF_ERROR(failure);
  if (handed_over) {
    LogInfo("tickerplant handed over seq={}", service.tickerplant().logged_seq());
    return wire::kExitHandedOver;
  }
  const absl::Status drained = Drain(loop, *server, service);
  LogInfo("tickerplant down seq={} rows={}", service.tickerplant().logged_seq(),
          service.tickerplant().counters().rows);
  TS_RETURN_IF_ERROR(drained);
  return 0;
}

}  // namespace

int RunTickerplant(const TickerplantMainOptions& options) {
  KeepFreedMemory();
  TouchHeap(kHeapBytes);
  InitLogging(options.name);
  const HeapTrimmer trimmer;
  const absl::StatusOr<int> exit_code = Run(options);
  if (!exit_code.ok()) LogError("tickerplant ends error=\"{}\"", Message(exit_code.status()));
  return exit_code.value_or(1);
}

}  // namespace tickstack::tickerplant
