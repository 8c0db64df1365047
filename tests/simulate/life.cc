#include "tests/simulate/life.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "disk/partition_writer.h"
#include "tests/simulate/oracle.h"
#include "tests/simulate/stack.h"
#include "tests/simulate/world.h"
#include "tickerplant/day_clock.h"

namespace tickstack::simulate {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = kNsPerSecond;
// A life has the time around the end of each day, from kBefore before it to kAfter after it.
constexpr int64_t kBefore = 30 * kSecond;
constexpr int64_t kAfter = 15 * kSecond;
constexpr int64_t kCalmAround = 12 * kSecond;  // The end of a calm day.
constexpr int64_t kCalmRollNs = 3 * kSecond;   // After it, such a day has ended.
constexpr int64_t kStallNsMax = 3 * kSecond;
constexpr int64_t kFullNsMax = 5 * kSecond;
constexpr int64_t kLastRowsNs = 2 * kSecond;  // After the trouble, when the last rows are due.
constexpr int64_t kConvergeNsMax = 120 * kSecond;
constexpr int64_t kLookNs = 50 * kMs;  // Between two looks whether everything has converged.
constexpr int64_t kSettleNs = 2 * kSecond;

template <typename T>
const T& OneOf(Random& random, const std::vector<T>& values) {
  return values[random.Below(values.size())];
}

StackOptions DrawOptions(Random& random, std::string folder) {
  StackOptions options;
  options.folder = std::move(folder);
  options.fsync = OneOf<wire::FsyncPolicy>(
      random, {wire::FsyncPolicy::kNone, wire::FsyncPolicy::kInterval, wire::FsyncPolicy::kBatch});
  options.fsync_interval_ms = static_cast<int>(random.Between(5, 200));
  options.batch_ns = OneOf<int64_t>(random, {0, 10 * kMs, 50 * kMs, 1000 * kMs});
  options.batch_bytes = OneOf<size_t>(random, {size_t{1} << 20, 4096});
  if (random.OneIn(2)) {
    for (const aggengine::BarSpec& spec : BarSpecs()) options.at_once.push_back(spec.name);
  }
  options.zone = OneOf<std::string>(random, {"UTC", "America/New_York", "Asia/Tokyo"});
  options.roll_offset_ns = OneOf<int64_t>(random, {0, 17 * 3600 * kSecond});
  options.reads_log_file = !random.OneIn(3);
  options.bars_every_ns = OneOf<int64_t>(random, {0, 0, 100 * kMs});
  options.bars_gap_ns = OneOf<int64_t>(random, {0, 5 * kMs, 25 * kMs});
  options.feed_batch_rows = OneOf<int64_t>(random, {1, 10, 1000});
  options.write_threads = static_cast<int>(random.Between(1, 3));
  if (random.OneIn(3)) {
    options.socket_bytes = OneOf<size_t>(random, {500, 4000});
    options.live_queue_bytes = OneOf<size_t>(random, {1, 2000});
    options.teller_window_rows = OneOf<int64_t>(random, {0, 1, 10});
  }
  if (random.OneIn(4)) options.keep_logs_days = static_cast<int>(random.Between(0, 1));
  return options;
}

// Kinds of trouble; a life has some of them.
struct Troubles {
  bool deaths, power_cuts, resets, stalls, stops, clocks, full_disks, write_errors;
};

class Life {
 public:
  Life(uint64_t seed, int days, const std::string& root)
      : days_(days),
        world_(seed, root, 0),
        random_(world_.random()),
        options_(DrawOptions(random_, root + "/data")) {
    Plan();
  }
  ~Life() { world_.End(); }

  LifeReport Run();

 private:
  void Plan();
  void StartStack();
  void PlanTrouble(int64_t roll_ns, bool calm);
  void Trouble(int kind);
  void SetClock();
  void FillDisk();
  bool HasConverged();
  std::string WhatIsMissing();
  template <typename T>
  T* ProgramOf(const Process* process) {
    return static_cast<T*>(const_cast<Process*>(process)->program());
  }
  std::vector<const Recorder*> Recorders();
  void NoteReceipts();
  void WatchFeeds();
  void WatchKeptDays();
  void CheckRolled(int32_t date);

  const int days_;
  World world_;
  Random& random_;
  const StackOptions options_;
  std::vector<int64_t> rolls_ns_;  // Wall-clock times.
  int32_t first_day_ = 0, last_day_ = 0;
  int64_t last_rows_ns_ = 0;
  Troubles troubles_{};
  FeedPlan plan_a_, plan_b_, plan_teller_, plan_repeater_;
  int64_t repeater_rows_ = 0;
  Told told_;
  std::optional<Oracle> oracle_;
  std::vector<int32_t> calm_days_;
  Process* tickerplant_ = nullptr;
  Process* engine_ = nullptr;
  Process* rdb_ = nullptr;
  Process* feed_a_ = nullptr;
  Process* feed_b_ = nullptr;
  Process* recorder_ = nullptr;
  Process* eager_recorder_ = nullptr;
  int64_t deaths_ = 0;
  uint64_t rdb_starts_ = 0;  // When its kept days were last counted, and their number.
  size_t days_kept_ = 0;
  int64_t next_receipts_ns_ = 0;
};

void Life::Plan() {
  const tickerplant::DayClock day =
      *tickerplant::DayClock::Create(options_.zone, options_.roll_offset_ns, std::nullopt);
  int64_t roll_ns = (DaysFromCivil(2024, 1, 1) + random_.Between(0, 400)) * kNsPerDay;
  for (int i = 0; i < days_; ++i) rolls_ns_.push_back(roll_ns = day.NextRollAfter(roll_ns));
  first_day_ = day.DateAt(rolls_ns_.front() - 1);
  last_day_ = day.DateAt(rolls_ns_.back() + kAfter);
  world_.JumpClock(rolls_ns_.front() - kBefore - world_.NowNs());
  last_rows_ns_ = rolls_ns_.back() + kAfter + kLastRowsNs;
  for (FeedPlan* const plan : {&plan_a_, &plan_b_, &plan_teller_, &plan_repeater_}) {
    *plan = {{"trade", {}}, {"quote", {}}};
    for (const int64_t roll : rolls_ns_) {
      FeedPlan of_day = PlanRows(random_, random_.Between(10, 400), roll - kBefore + kSecond,
                                 roll + kAfter - kSecond, roll);
      for (auto& [table, rows] : of_day) {
        (*plan)[table].insert((*plan)[table].end(), rows.begin(), rows.end());
      }
    }
    // What no trouble hits: with these rows, a feed notices what a power cut took from the log.
    for (auto& [table, rows] : *plan) {
      rows.push_back({last_rows_ns_, "LAST", 1, 1});
    }
  }
  plan_repeater_["quote"].clear();
  oracle_.emplace(options_,
                  std::vector<Oracle::Feed>{
                      {"feed_a", &plan_a_}, {"feed_b", &plan_b_}, {"repeater", &plan_repeater_}},
                  plan_teller_, told_);
}

void Life::StartStack() {
  world_.wires().set_unread_bytes_max(options_.socket_bytes);
  tickerplant_ = &world_.Add("tickerplant", true, [this](Process& process) {
    return StartTickerplant(process, options_);
  });
  engine_ = &world_.Add("aggengine", true,
                        [this](Process& process) { return StartAggEngine(process, options_); });
  rdb_ = &world_.Add("rdb", true, [this](Process& process) { return StartRdb(process, options_); });
  feed_a_ = &world_.Add("feed_a", false, [this](Process& process) {
    return StartFeed(process, options_, "feed_a", plan_a_);
  });
  feed_b_ = &world_.Add("feed_b", false, [this](Process& process) {
    return StartFeed(process, options_, "feed_b", plan_b_);
  });
  world_.Add("teller", false, [this](Process& process) {
    return StartTeller(process, options_, plan_teller_, told_);
  });
  world_.Add("repeater", false, [this](Process& process) {
    return StartRepeater(process, plan_repeater_, "repeater", repeater_rows_);
  });
  recorder_ = &world_.Add("recorder", false, [this](Process& process) {
    return StartRecorder(process, options_, false);
  });
  eager_recorder_ = &world_.Add("eager recorder", false, [this](Process& process) {
    return StartRecorder(process, options_, true);
  });
  world_.OnStart([this](Process& process) {
    if (&process != tickerplant_ || process.is_dead()) return;
    NoteReceipts();
    oracle_->OnTickerplant(ProgramOf<TickerplantProgram>(tickerplant_)->service->tickerplant(),
                           Recorders());
  });
  world_.OnPowerCut([this] {
    // A stalled tickerplant does not sync.
    const int64_t slow_ns = troubles_.stalls ? 2 * kStallNsMax : kSecond;
    oracle_->OnPowerCut(world_, 2 * options_.fsync_interval_ms * kMs + slow_ns);
  });
}

std::vector<const Recorder*> Life::Recorders() {
  std::vector<const Recorder*> recorders;
  for (const Process* const process : {recorder_, eager_recorder_}) {
    if (const auto* const program = ProgramOf<RecorderProgram>(process)) {
      recorders.push_back(program->recorder.get());
    }
  }
  return recorders;
}

void Life::NoteReceipts() {
  for (const auto& [name, process] : {std::pair{"feed_a", feed_a_}, {"feed_b", feed_b_}}) {
    const auto* const program = ProgramOf<FeedProgram>(process);
    if (program == nullptr) continue;
    oracle_->OnAcknowledged(name, program->service->feed().rows_logged(), world_.MonotonicNs());
  }
  next_receipts_ns_ = world_.MonotonicNs() + kLookNs;
}

// Called after each event.
void Life::WatchFeeds() {
  for (const auto& [name, process] : {std::pair{"feed_a", feed_a_}, {"feed_b", feed_b_}}) {
    const auto* const program = ProgramOf<FeedProgram>(process);
    if (program == nullptr) continue;
    oracle_->OnState(name, program->service->feed().state() == feed::FeedState::kAsking);
  }
  if (world_.MonotonicNs() >= next_receipts_ns_) NoteReceipts();
}

// The rdb drops a day only if its partition is there. With more days it is not known which one.
void Life::WatchKeptDays() {
  const auto* const program = ProgramOf<RdbProgram>(rdb_);
  if (days_ > 1 || program == nullptr || rdb_->is_dead()) return;
  const size_t kept = program->rdb->days_kept();
  const bool dropped = rdb_->starts() == rdb_starts_ && kept < days_kept_;
  rdb_starts_ = rdb_->starts();
  days_kept_ = kept;
  if (!dropped) return;
  const absl::StatusOr<std::string> there = disk::FindPartition(options_.Database(), first_day_);
  if (!there.ok() || there->empty()) oracle_->Fail("a day was dropped that has no partition");
}

// A calm day ends soon, also for its subscribers.
void Life::CheckRolled(int32_t date) {
  const auto* const program = ProgramOf<TickerplantProgram>(tickerplant_);
  if (program == nullptr || program->service->tickerplant().date() <= date) {
    return oracle_->Fail(fmt::format("{} has not ended", FormatDate(date)));
  }
  for (const Recorder* const recorder : Recorders()) {
    if (!recorder->ended().contains(date)) oracle_->Fail("a subscriber got no `.u.end`");
  }
}

// ---- trouble

void Life::Trouble(int kind) {
  NoteReceipts();  // Before a feed dies with what it knows.
  const std::vector<Process*> killed = {tickerplant_, engine_, rdb_, feed_a_, feed_b_};
  Process& process = *OneOf(random_, killed);
  switch (kind) {
    case 0:
      ++deaths_;
      return world_.Kill(process);
    case 1:
      ++deaths_;
      return world_.DieAfter(random_.OneIn(2) ? *tickerplant_ : *rdb_, random_.Between(0, 100),
                             false);
    case 2:
      return world_.CutPower();
    case 3:
      return world_.DieAfter(random_.OneIn(2) ? *tickerplant_ : *rdb_, random_.Between(0, 100),
                             true);
    case 4:
      world_.connections().ResetOne(random_.Next());
      return;
    case 5:
      return world_.Stall(*world_.processes()[random_.Below(world_.processes().size())],
                          random_.Between(kMs, kStallNsMax));
    case 6:
      return world_.StopInOrder(process);
    case 7:
      return SetClock();
    case 8:
      return FillDisk();
    default:
      return world_.disk().FailNextWrite();
  }
}

void Life::FillDisk() {
  world_.disk().set_full(true);
  world_.At(world_.MonotonicNs() + random_.Between(kMs, kFullNsMax),
            [this] { world_.disk().set_full(false); });
}

// Sets a machine's clock, or sets it right.
void Life::SetClock() {
  const auto most_ns = OneOf<int64_t>(random_, {kSecond, 60 * kSecond, 6 * 3600 * kSecond});
  const int64_t ahead_ns = random_.OneIn(3) ? 0 : random_.Between(-most_ns, most_ns);
  const bool has_disk = random_.OneIn(2);
  LogInfo("simulated clock has_disk={} ahead_ms={}", has_disk, ahead_ns / kMs);
  world_.clock_of(has_disk).set_ahead_ns(ahead_ns);
}

// Times are of the wall clock.
void Life::PlanTrouble(int64_t roll_ns, bool calm) {
  const auto plan = [&](int kind, int64_t times_max) {
    for (int64_t n = random_.Between(0, times_max); n > 0; --n) {
      const int64_t at_ns = roll_ns + random_.Between(-kBefore + kSecond, kAfter - kSecond);
      if (calm && at_ns > roll_ns - kCalmAround && at_ns < roll_ns + kCalmAround) continue;
      world_.At(world_.MonotonicNs() + at_ns - world_.NowNs(), [this, kind] { Trouble(kind); });
    }
  };
  if (troubles_.deaths) plan(0, 3), plan(1, 4);
  if (troubles_.power_cuts) plan(2, 1), plan(3, 2);
  if (troubles_.resets) plan(4, 8);
  if (troubles_.stalls) plan(5, 4);
  if (troubles_.stops) plan(6, 2);
  if (troubles_.full_disks) plan(8, 3);
  if (troubles_.write_errors) plan(9, 4);
  // A day that a wrong clock ends is not calm.
  if (troubles_.clocks && !calm) plan(7, 4);
}

// ---- the end

std::string Life::WhatIsMissing() {
  for (const std::unique_ptr<Process>& process : world_.processes()) {
    if (process->program() == nullptr) {
      return fmt::format("{} does not run: {}", process->name(), process->start_error().ToString());
    }
  }
  const tickerplant::Tickerplant& plant =
      ProgramOf<TickerplantProgram>(tickerplant_)->service->tickerplant();
  for (const Process* const feed : {feed_a_, feed_b_}) {
    const feed::Feed& state = ProgramOf<FeedProgram>(feed)->service->feed();
    if (state.state() != feed::FeedState::kDone) {
      return fmt::format("{} is {}: {}", feed->name(), feed::NameOf(state.state()),
                         state.error().ToString());
    }
  }
  if (plant.date() != last_day_) return fmt::format("the day is {}", FormatDate(plant.date()));
  if (plant.has_staged()) return "rows are staged";
  if (told_.next < told_.answers.size() || told_.answers.back() == Told::Answer::kNone) {
    return fmt::format("the teller has sent {} rows of {}", told_.next, told_.answers.size());
  }
  if (repeater_rows_ < static_cast<int64_t>(plan_repeater_["trade"].size())) {
    return fmt::format("{} rows of the repeater are logged", repeater_rows_);
  }
  for (const Recorder* const recorder : Recorders()) {
    if (!recorder->is_live()) return "a subscriber is not live";
  }
  const auto* const rdb = ProgramOf<RdbProgram>(rdb_);
  if (rdb->rdb->counters().live.load() == 0) return "the rdb is not live";
  const auto* const engine = ProgramOf<AggEngineProgram>(engine_);
  if (!engine->engine->is_live()) return "the aggregation engine is not live";
  if (engine->engine->has_changes() || engine->engine->unanswered() > 0) {
    return "bars are not published";
  }
  if (!oracle_->expects_partitions()) return "";
  if (rdb->rdb->days_kept() > 0) return "the rdb keeps a day";
  if (const std::optional<rdb::BlockedDay> blocked = rdb->rdb->blocked_day()) return blocked->why;
  for (int32_t date = plant.date() - days_; date < plant.date(); ++date) {
    if (!FileExists(options_.LogPath(date))) continue;
    const absl::StatusOr<std::string> there = disk::FindPartition(options_.Database(), date);
    if (!there.ok() || there->empty()) return fmt::format("no partition {}", FormatDate(date));
  }
  return "";
}

bool Life::HasConverged() { return WhatIsMissing().empty(); }

LifeReport Life::Run() {
  StartStack();
  troubles_ = {.deaths = random_.OneIn(2),
               .power_cuts = random_.OneIn(2),
               .resets = random_.OneIn(2),
               .stalls = random_.OneIn(3),
               .stops = random_.OneIn(3),
               .clocks = random_.OneIn(4),
               .full_disks = random_.OneIn(4),
               .write_errors = random_.OneIn(4)};
  // What a power cut took is recognised by its age, which a clock that was set hides.
  if (troubles_.power_cuts) troubles_.clocks = false;
  const bool slow = random_.OneIn(3), in_parts = random_.OneIn(3);
  const auto wall = [this](int64_t ns) { return ns - world_.NowNs(); };
  for (const int64_t roll_ns : rolls_ns_) {
    // The night before: the machine sleeps, or its power is cut.
    if (wall(roll_ns - kBefore) > 0) {
      if (troubles_.power_cuts && random_.OneIn(3)) world_.CutPower();
      world_.AdvanceTo(world_.MonotonicNs() + wall(roll_ns - kBefore));
    }
    if (slow) world_.chances().slow_read = 10, world_.chances().slow_read_ns = 20 * kMs;
    if (in_parts) world_.chances().short_write = 3;
    const bool calm = random_.OneIn(2);
    if (calm) {
      const tickerplant::DayClock day =
          *tickerplant::DayClock::Create(options_.zone, options_.roll_offset_ns, std::nullopt);
      calm_days_.push_back(day.DateAt(roll_ns - kSecond));
    }
    PlanTrouble(roll_ns, calm);
    if (calm) {
      world_.At(world_.MonotonicNs() + wall(roll_ns - kCalmAround), [this] {
        world_.CallOffDeaths();
        world_.disk().CallOffErrors();
      });
      world_.At(world_.MonotonicNs() + wall(roll_ns + kCalmRollNs),
                [this, date = calm_days_.back()] { CheckRolled(date); });
    }
    const auto has_failed = [this] {
      WatchFeeds();
      WatchKeptDays();
      return !oracle_->failure().empty();
    };
    world_.RunUntil(has_failed, wall(roll_ns + kAfter));
    if (!oracle_->failure().empty()) break;
    for (const bool has_disk : {false, true}) world_.clock_of(has_disk).set_ahead_ns(0);
  }
  world_.CallOffTrouble();
  world_.set_restart_ns_max(200 * kMs);
  const int64_t converged_by_ns = world_.MonotonicNs() + kConvergeNsMax;
  while (oracle_->failure().empty() && !(world_.NowNs() > last_rows_ns_ && HasConverged())) {
    world_.RunUntil([] { return false; }, kLookNs);
    if (world_.MonotonicNs() > converged_by_ns) {
      oracle_->Fail("no convergence: " + WhatIsMissing());
    }
  }
  world_.RunUntil([] { return false; }, kSettleNs);
  if (oracle_->failure().empty() && !HasConverged()) {
    oracle_->Fail("converged, but not for long: " + WhatIsMissing());
  }
  if (oracle_->failure().empty()) {
    oracle_->CheckEnd({.plant = ProgramOf<TickerplantProgram>(tickerplant_)->service->tickerplant(),
                       .rdb = *ProgramOf<RdbProgram>(rdb_)->rdb,
                       .recorders = Recorders(),
                       .calm_days = calm_days_});
  }
  return {.failure = oracle_->failure(),
          .trace = world_.trace(),
          .rows = oracle_->rows(),
          .deaths = deaths_,
          .power_cuts = world_.power_cuts()};
}

}  // namespace

LifeReport Live(uint64_t seed, int days, const std::string& root) {
  return Life(seed, days, root).Run();
}

}  // namespace tickstack::simulate
