#include "rdb/rdb_main.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "base/file.h"
#include "base/heap.h"
#include "base/heap_trimmer.h"
#include "base/logging.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "mem/numa.h"
#include "mem/persistent_tier.h"
#include "mem/tier.h"
#include "rdb/intake.h"
#include "rdb/rdb.h"
#include "rdb/rdb_environment.h"
#include "rdb/rdb_metrics.h"
#include "rdb/row_mover.h"
#include "rdb/succession.h"
#include "rdb/tier_watch.h"
#include "serve/query_service.h"
#include "tplog/log_replay.h"
#include "tplog/subscriber.h"
#include "tplog/tplog_state.h"
#include "wire/heartbeat.h"

namespace tickstack::rdb {
namespace {

using namespace std::chrono_literals;

// Heap that indexes, read buffers and the like take in the first minute.
constexpr size_t kHeapBytes = size_t{16} << 20;
constexpr auto kTierLooks = 1s;  // Interval of checks of the tiers' free space.
constexpr auto kSlice = 50ms;    // Replay time between two checks of the stop signal.

// Keeps restored tables if they follow this log, otherwise empties them.
absl::Status EnterLog(const std::string& path, tplog::LogReplay& replay, Rdb& rdb) {
  TS_ASSIGN_OR_RETURN(const ByteBuffer first, replay.ReadMessage(0));
  TS_ASSIGN_OR_RETURN(const tplog::TplogState state, tplog::ReadTplogState(path));
  const LogIdentity log{path, first.empty() ? std::nullopt : std::optional(Crc32c(first)),
                        static_cast<uint32_t>(state.cuts.size())};
  const uint64_t seq = rdb.position().seq();
  bool same = log == rdb.log() && log.first_message_crc;
  if (same && seq > 0) {
    TS_ASSIGN_OR_RETURN(const ByteBuffer last, replay.ReadMessage(seq - 1));
    same = !last.empty();
  }
  if (!same) {
    if (seq > 0) LogInfo("starting over log={} was={} seq_was={}", path, rdb.log().path, seq);
    rdb.StartOver();
  }
  rdb.SetLog(log);
  return absl::OkStatus();
}

// Runs one turn of the loop, so that a signal is seen.
void RunOnce(wire::EventLoop& loop) {
  bool ran = false;
  loop.Post([&ran] { ran = true; });
  loop.RunUntil([&ran] { return ran; }, true);
}

// Reports what a log has and no table does.
void ReportRowsNotServed(const std::string& log, const tplog::LogReplay& replay, Rdb& rdb) {
  if (replay.torn_bytes() > 0) {
    LogWarn("log ends with bytes that are no whole message log={} bytes={}", log,
            replay.torn_bytes());
  }
  uint64_t missing = 0;
  const std::vector<tplog::MessageCensus::Odd> all_odd = replay.FindOdd();
  for (const tplog::MessageCensus::Odd& odd : all_odd) {
    LogError(
        "log may be damaged: `tickstack log check` says more log={} messages={} first_message={} "
        "first_offset={} found=\"{}\"",
        log, odd.messages, odd.first.seq, odd.first.offset, odd.text);
    if (odd.hides_rows) missing += odd.messages;
  }
  if (!all_odd.empty()) rdb.NoteMissing(missing);
  for (const auto& [table, rows] : rdb.unknown_rows()) {
    LogError("rows of the log are not served: there is no such table log={} table={} rows={}", log,
             table, rows);
  }
  for (const auto& [table, refused] : rdb.refused_upds()) {
    LogError(
        "rows of the log are not served: refused log={} table={} messages={} rows={} "
        "first_message={} last_message={} error=\"{}\"",
        log, table, refused.messages, refused.rows, refused.first_seq, refused.last_seq,
        refused.why);
  }
}

absl::Status ReplayWholeLog(const std::string& path, wire::EventLoop& loop, const bool& stop,
                            Rdb& rdb) {
  const int64_t begin_ns = MonotonicNs();
  TS_ASSIGN_OR_RETURN(const std::unique_ptr<tplog::LogReplay> replay,
                      tplog::LogReplay::Open(path, /*finds_odd=*/true));
  if (rdb.durable() != nullptr) TS_RETURN_IF_ERROR(EnterLog(path, *replay, rdb));
  auto progress = tplog::LogReplay::Progress::kMore;
  while (progress == tplog::LogReplay::Progress::kMore && !stop) {
    TS_ASSIGN_OR_RETURN(progress, replay->Step(rdb, UINT64_MAX, kSlice));
    RunOnce(loop);
  }
  const RdbCounters& counters = rdb.counters();
  LogInfo("log replayed log={} messages={} rows={} refused={} torn_bytes={} ms={}", path,
          counters.messages_replayed.load(), counters.rows_replayed.load(),
          counters.upds_refused.load() + counters.rows_refused.load(), replay->torn_bytes(),
          (MonotonicNs() - begin_ns) / 1'000'000);
  ReportRowsNotServed(path, *replay, rdb);
  return absl::OkStatus();
}

using OpenTiers = std::vector<std::unique_ptr<mem::Tier>>;

absl::StatusOr<std::unique_ptr<mem::Tier>> Open(const TierConfig& config, bool holds_rows,
                                                const std::string& process, bool is_given) {
  mem::TierOptions options = config.options;
  // Memory is touched ahead for the ingest thread only: a scratch tier that is never used then
  // costs nothing.
  if (!holds_rows) options.touch_ahead_bytes = options.touch_first_bytes = 0;
  if (options.kind == mem::TierKind::kPersistent) {
    options.file = PersistentFileOf(process);
    options.lock_wait = kLockWaitAtStart;
    options.read_by_another = is_given;
    return mem::PersistentTier::Open(options);
  }
  return mem::OpenTier(options);
}

// Opens the tiers that the placement uses, and DRAM. A tier in which nothing is placed would only
// take capacity from the others. `is_given`: the process that has the persistent tier gave it.
absl::StatusOr<OpenTiers> OpenAll(const RdbMainOptions& options, bool is_given) {
  OpenTiers tiers;
  for (const TierConfig& config : options.tiers) {
    const std::string& name = config.options.name;
    if (name != kDramTier && !options.placement.Uses(name)) continue;
    TS_ASSIGN_OR_RETURN(std::unique_ptr<mem::Tier> tier,
                        Open(config, options.placement.HoldsRows(name), options.name, is_given));
    const mem::TierStats stats = tier->Stats();
    LogInfo(
        "tier open tier={} kind={} capacity_bytes={} path={} filesystem={} dax={} nodes={} "
        "streaming={}{}",
        stats.name, stats.kind,
        stats.capacity_bytes == SIZE_MAX ? "unbounded" : std::to_string(stats.capacity_bytes),
        stats.path, stats.filesystem, stats.dax, stats.nodes, stats.streaming,
        stats.model.empty() ? "" : fmt::format(" SIMULATED model={}", stats.model));
    tiers.push_back(std::move(tier));
  }
  std::string keys;
  for (const auto& [key, tier] : options.placement.keys()) keys += fmt::format(" {}={}", key, tier);
  const std::optional<AgeRule>& age = options.placement.age();
  LogInfo("placement{}{}", keys.empty() ? " default=dram" : keys,
          age ? fmt::format(" then={} older_than_minutes={}", age->tier,
                            age->older_than_ns / (60 * kNsPerSecond))
              : "");
  return tiers;
}

std::vector<mem::Tier*> Pointers(const OpenTiers& tiers) {
  std::vector<mem::Tier*> pointers;
  for (const std::unique_ptr<mem::Tier>& tier : tiers) pointers.push_back(tier.get());
  return pointers;
}

serve::QueryServiceOptions ServiceOptions(const RdbMainOptions& options,
                                          const Placement& placement) {
  serve::QueryServiceOptions service = serve::ServiceOptionsOf(options, options.listener);
  // Queries build in DRAM by default: on the heap, with its bound per query.
  if (placement.rules().TierOfQueries() != kDramTier) service.scratch = placement.queries();
  return service;
}

// Returns the path of the persistent tier that will have rows; empty if there is none.
std::string TierFileOf(const RdbMainOptions& options) {
  for (const TierConfig& config : options.tiers) {
    const mem::TierOptions& tier = config.options;
    if (tier.kind != mem::TierKind::kPersistent || !options.placement.HoldsRows(tier.name))
      continue;
    return fmt::format("{}/{}", tier.path, PersistentFileOf(options.name));
  }
  return "";
}

RdbOptions RdbOptionsOf(const RdbMainOptions& options) {
  RdbOptions rdb;
  rdb.infer_schemas = !options.replay.empty();
  rdb.known_schemas = options.replay_schemas;
  for (const TierConfig& config : options.tiers) {
    if (config.options.name == options.placement.TierOfTheRest()) {
      rdb.commit_ns = int64_t{1'000'000} * config.commit_ms;
    }
  }
  return rdb;
}

// Makes what writes ended days, if they are written. It waits if another process may still write.
void KeepDays(const RdbMainOptions& options, bool waits, Rdb& rdb,
              std::optional<EndOfDay>& end_of_day) {
  if (!options.replay.empty()) return;
  if (!options.end_of_day) return LogInfo("days are dropped when they end: no [eod] says where to");
  EndOfDayOptions days = *options.end_of_day;
  if (days.database.empty()) days.database = options.data + "/hdb";
  days.waits = waits;
  LogInfo("days are written database={} hdb={}", days.database,
          days.hdb.empty() ? "none" : days.hdb);
  end_of_day.emplace(std::move(days), &rdb);
  rdb.KeepDays(&*end_of_day);
}

absl::StatusOr<tplog::SubscriberOptions> SubscriberOptionsOf(const RdbMainOptions& options) {
  tplog::SubscriberOptions subscribe;
  TS_ASSIGN_OR_RETURN(subscribe.tickerplant, wire::ParseAddress(options.tickerplant));
  subscribe.client.connection.max_message_bytes = options.max_message_bytes;
  subscribe.client.user = options.name;
  subscribe.client.is_link = true;
  subscribe.read_log_file = options.read_log_file;
  subscribe.shard = options.shard;
  return subscribe;
}

// Fills the tables that are not filled by the tickerplant.
absl::Status FillFirst(const RdbMainOptions& options, wire::EventLoop& loop, const bool& stop,
                       Rdb& rdb) {
  // Prestress comes first: the rdb does not say that it is ready before it has its initial rows.
  if (options.prestress != nullptr) {
    const auto stopped = [&] {
      RunOnce(loop);
      return stop;
    };
    TS_RETURN_IF_ERROR(Prestress(*options.prestress, options.prestress_schemas, stopped, rdb));
  }
  if (options.replay.empty()) return absl::OkStatus();
  TS_RETURN_IF_ERROR(ReplayWholeLog(options.replay, loop, stop, rdb));
  rdb.counters().caught_up.store(1, std::memory_order_relaxed);
  return absl::OkStatus();
}

// Returns the exit code.
absl::StatusOr<int> Run(RdbMainOptions options) {
  TS_ASSIGN_OR_RETURN(const tplog::SubscriberOptions subscribe, SubscriberOptionsOf(options));
  if (options.numa_node >= 0) {  // Binds before there are threads and memory.
    TS_RETURN_IF_ERROR(Annotate(mem::BindProcessToNode(options.numa_node), "numa_node"));
    LogInfo("bound to a node numa_node={}", options.numa_node);
  }
  wire::EventLoop loop;
  // Declared before the tiers, so that they are closed first: their ends tell the process at the
  // other end of a take-over that this one has ended.
  std::unique_ptr<Successor> successor;  // nullptr: this takes nobody's place.
  std::optional<Holder> holder;
  if (options.take_over) {
    TS_ASSIGN_OR_RETURN(successor, Successor::Begin(options.listener.port, TierFileOf(options)));
  }
  const bool is_given = successor != nullptr && successor->has_tier();
  TS_ASSIGN_OR_RETURN(const OpenTiers tiers, OpenAll(options, is_given));
  const Clock& clock = SystemClock::Instance();
  Rdb rdb(RdbOptionsOf(options), Placement(options.placement, Pointers(tiers)), &clock);
  rdb.Reopen();
  if (is_given && rdb.durable()->counters().reopens_damaged.load() > 0) {
    return DataLoss("the tier is damaged, and cannot be made anew while the running rdb reads it");
  }
  std::optional<RowMover> mover;
  if (rdb.placement().rules().age()) mover.emplace(&rdb, &clock).Start();
  std::optional<EndOfDay> end_of_day;
  KeepDays(options, /*waits=*/successor != nullptr, rdb, end_of_day);
  RdbEnvironment environment(&rdb, &clock, options.shard);
  environment.facts().SetLimits(options);

  bool stop = false;
  loop.OnStopSignal([&](int) { stop = true; });
  TS_RETURN_IF_ERROR(FillFirst(options, loop, stop, rdb));
  Intake intake(loop, subscribe, &rdb);
  std::optional<mem::TouchPause> pause;
  if (successor != nullptr) {
    intake.Start();
    TS_RETURN_IF_ERROR(successor->TakeSockets(loop, stop, rdb, options.listener, pause));
    if (stop) return 0;
  }

  std::atomic<int64_t> ingest_ns{MonotonicNs()};
  serve::ProcessStatus status(StatusOf(options, rdb, environment, ingest_ns));
  serve::QueryServiceOptions service_options = ServiceOptions(options, rdb.placement());
  service_options.status = &status;
  service_options.contents = &rdb.counters().starts_over;
  TS_ASSIGN_OR_RETURN(
      const std::unique_ptr<serve::QueryService> service,
      serve::QueryService::Start(service_options, &environment, &environment.queries()));
  environment.facts().SetPort(service->port());
  if (options.replay.empty() && successor == nullptr) intake.Start();
  std::vector<mem::Tier*> watched = Pointers(tiers);
  std::erase_if(watched, [&rdb](const mem::Tier* tier) { return rdb.placement().PassesOn(tier); });
  TierWatch tier_watch(std::move(watched));
  wire::Timer tier_looks(loop);
  tier_looks.Every(kTierLooks, [&tier_watch, &ingest_ns] {
    tier_watch.Poll();
    ingest_ns.store(MonotonicNs(), std::memory_order_relaxed);
  });
  LogInfo("rdb up port={} tickerplant={} replay={} query_threads={}", service->port(),
          options.replay.empty() ? options.tickerplant : "none",
          options.replay.empty() ? "none" : options.replay, options.query_threads);
  AskForShortSlices();
  const wire::Heartbeat heartbeat(loop, options.listener);
  std::optional<Holder::End> end;
  holder.emplace(&rdb, service.get(), &intake, [&](Holder::End how) {
    end = how;
    stop = true;
  });
  if (successor != nullptr) {
    successor->Confirm(loop, [&] {
      pause.reset();
      if (is_given) rdb.durable()->tier().ReuseFreed();
      if (end_of_day) end_of_day->Begin();
      holder->Offer(loop);
    });
  } else if (options.replay.empty()) {
    holder->Offer(loop);
  }
  loop.RunUntil([&] { return stop; }, options.busy_poll);
  intake.Stop();
  rdb.MakeDurable();
  LogInfo("rdb down seq={} rows={} rows_replayed={} handed_over={}", rdb.counters().seq.load(),
          rdb.counters().rows.load(), rdb.counters().rows_replayed.load(),
          end == Holder::End::kHandedOver);
  if (end == Holder::End::kFailed) return FailedPrecondition("a take-over failed");
  return end == Holder::End::kHandedOver ? wire::kExitHandedOver : 0;
}

}  // namespace

std::string PersistentFileOf(std::string_view rdb) { return fmt::format("{}.tier", rdb); }

TierConfig TierConfigOf(std::string_view name) {
  TierConfig config;
  config.options.name = name;
  config.options.touch_ahead_bytes = size_t{64} << 20;
  return config;
}

int RunRdb(const RdbMainOptions& options) {
  KeepFreedMemory();
  TouchHeap(kHeapBytes);
  InitLogging(options.name);
  const HeapTrimmer trimmer;
  const absl::StatusOr<int> exit_code = Run(options);
  if (!exit_code.ok()) LogError("rdb ends error=\"{}\"", Message(exit_code.status()));
  return exit_code.value_or(1);
}

}  // namespace tickstack::rdb
