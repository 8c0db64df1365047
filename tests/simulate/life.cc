#include "tests/simulate/life.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "disk/partition_writer.h"
#include "tests/simulate/damage.h"
#include "tests/simulate/exchange_feed.h"
#include "tests/simulate/notes.h"
#include "tests/simulate/oracle.h"
#include "tests/simulate/stack.h"
#include "tests/simulate/trouble.h"
#include "tests/simulate/users.h"
#include "tests/simulate/world.h"
#include "tickerplant/day_clock.h"
#include "tplog/tplog_state.h"

namespace tickstack::simulate {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = kNsPerSecond;
constexpr int64_t kCalmRollNs = 3 * kSecond;     // After it, a day with a calm end has ended.
constexpr int64_t kBarsWaitNsMax = 3 * kSecond;  // Bars are published sooner if nothing is wrong.
constexpr int64_t kLastRowsNs = 2 * kSecond;     // After the trouble, when the last rows are due.
constexpr int64_t kConvergeNsMax = 120 * kSecond;
constexpr int64_t kLookNs = 50 * kMs;  // Between two looks whether everything has converged.
constexpr int64_t kSettleNs = 2 * kSecond;
constexpr int64_t kAnswerNsMax = 5 * kSecond;
constexpr int64_t kSilenceNsMax = 10 * kSecond;
constexpr int64_t kFailedNsMax = kSecond;  // A tickerplant whose log has failed ends sooner.
constexpr int64_t kSlackNs = 150 * kMs;    // A process may get no turn for this long.
constexpr int64_t kLastMessages = 3;       // The exchange sends them after the trouble.
constexpr int kFlips = 3;                  // Bits of the logs, and of the database.

// Half of the stacks have a users file, half a table of notes, and half a live feed.
StackOptions WithExtras(Random& random, uint64_t seed, StackOptions options) {
  if (random.OneIn(2)) options.users = MakeUsers();
  options.has_notes = random.OneIn(2);
  // A source of its own, so that other lives are those that they were without a live feed.
  options.has_exchange = Random(~seed).OneIn(2);
  return options;
}

class Life {
 public:
  Life(uint64_t seed, int days, const std::string& root, bool strict_syncs)
      : days_(days),
        strict_syncs_(strict_syncs),
        world_(seed, root, 0),
        random_(world_.random()),
        root_(root),
        options_(WithExtras(random_, seed, DrawOptions(random_, root + "/data"))),
        reconfigures_(random_.OneIn(3)),
        next_options_(options_),
        plant_options_(options_) {
    Plan();
  }
  ~Life() { world_.End(); }

  LifeReport Run();

 private:
  LifeReport Report();
  void Plan();
  void PlanNotes();
  void StartStack();
  FeedPlan PlanDay(int64_t roll_ns, const std::vector<Silence>& silences);
  std::vector<Silence> DrawSilences(int64_t roll_ns);
  void DrawNetwork();
  bool HasConverged();
  std::string WhatIsMissing();
  template <typename T>
  T* ProgramOf(const Process* process) {
    return static_cast<T*>(const_cast<Process*>(process)->program());
  }
  std::vector<const Recorder*> Recorders();
  void NoteReceipts();
  void WatchFeeds();
  void WatchExchange();
  void WatchKeptDays();
  void WatchTickerplant();
  bool CouldNoteFailedSync(const std::string& log);
  void NoteUnknownFailures();
  int64_t UnsyncedNsMax() const;
  void Look();
  // True if reading a log may have failed.
  bool MayBeIllegible() const {
    return troubles_->kinds().read_errors || troubles_->kinds().flipped_bits ||
           oracle_->expects_damage();
  }
  // True if a subscriber may lack rows of a day because its log is gone. If no log is kept, the rdb
  // removes it as soon as the day is written. Configurations refuse that, but lives of one day have
  // no other removed logs.
  bool MayLackLog(const std::string& path) const {
    return options_.keep_logs_days == 0 && !std::filesystem::exists(path);
  }
  void CheckRolled(int32_t date);
  void RestartIncomplete();

  const int days_;
  const bool strict_syncs_;
  World world_;
  Random& random_;
  const std::string root_;
  const StackOptions options_;
  const bool reconfigures_;        // Tickerplants may start with other options than the one before.
  StackOptions next_options_;      // The options of the last attempt to start one.
  StackOptions plant_options_;     // The options of the last one that started.
  bool was_none_ = false;          // One of them had the fsync policy `none`.
  std::vector<int64_t> rolls_ns_;  // Wall-clock times.
  std::map<int32_t, int64_t> begins_ns_;  // The same, by the date that begins.
  int32_t first_day_ = 0, last_day_ = 0;
  int64_t last_rows_ns_ = 0;
  std::optional<Troubles> troubles_;
  Chances chances_;
  std::map<int64_t, std::vector<int64_t>> silences_ns_;  // Their ends, both, by the end of the day.
  FeedPlan plan_a_, plan_b_, plan_teller_, plan_repeater_;
  FeedPlan plan_notes_;   // Only rows of the table note.
  std::string accepted_;  // A note that should have been refused.
  int64_t repeater_rows_ = 0;
  Told told_;
  std::string stolen_;  // What the stranger got of the names of feeds.
  std::optional<Oracle> oracle_;
  std::optional<ExchangeFeed> exchange_;
  std::vector<int32_t> calm_days_;
  Process* tickerplant_ = nullptr;
  Process* engine_ = nullptr;
  Process* rdb_ = nullptr;
  Process* feed_a_ = nullptr;
  Process* feed_b_ = nullptr;
  Process* recorder_ = nullptr;
  Process* eager_recorder_ = nullptr;
  std::optional<int32_t> date_;  // The tickerplant's, when it was last looked at.
  uint64_t rdb_starts_ = 0;      // When its kept days were last counted, and their number.
  size_t days_kept_ = 0;
  int64_t next_receipts_ns_ = 0;
  int64_t sync_ns_max_ = 0;
  int64_t tickerplant_ran_ns_ = 0;       // When it ran last.
  int64_t tickerplant_stalled_ns_ = -1;  // When it was last seen to be stalled; -1: never.
  // Numbers of calls and of syncs that the disk had failed when it was last looked at.
  uint64_t failed_calls_ = 0, failed_syncs_ = 0, noted_syncs_ = 0;
  // When the tickerplant started: Disk::refused_calls, Process::exits_by_itself.
  uint64_t refused_calls_ = 0, plant_exits_ = 0;
  std::set<std::string> unknown_failures_;  // Logs: a start does not know that a sync failed.
  std::optional<int64_t> log_failed_ns_;    // When a sync of this tickerplant's log failed.
  bool feed_a_asks_ = false, feed_b_asks_ = false;
  int64_t next_look_ns_ = 0;
  int64_t bars_wait_since_ns_ = 0;
  uint64_t bars_published_ = 0;  // Messages of bars, when it was last looked at.
};

void Life::Plan() {
  const tickerplant::DayClock day =
      *tickerplant::DayClock::Create(options_.zone, options_.roll_offset_ns, std::nullopt);
  int64_t roll_ns = (DaysFromCivil(2024, 1, 1) + random_.Between(0, 400)) * kNsPerDay;
  for (int i = 0; i < days_; ++i) {
    rolls_ns_.push_back(roll_ns = day.NextRollAfter(roll_ns));
    begins_ns_[day.DateAt(roll_ns)] = roll_ns;
  }
  first_day_ = day.DateAt(rolls_ns_.front() - 1);
  last_day_ = day.DateAt(rolls_ns_.back() + kAfter);
  world_.JumpClock(rolls_ns_.front() - kBefore - world_.NowNs());
  last_rows_ns_ = rolls_ns_.back() + kAfter + kLastRowsNs;
  std::map<int64_t, std::vector<Silence>> silences;
  for (const int64_t roll : rolls_ns_) silences[roll] = DrawSilences(roll);
  for (FeedPlan* const plan : {&plan_a_, &plan_b_, &plan_teller_, &plan_repeater_}) {
    *plan = {{"trade", {}}, {"quote", {}}};
    for (const int64_t roll : rolls_ns_) {
      FeedPlan of_day = PlanDay(roll, silences[roll]);
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
  std::vector<Oracle::Feed> feeds = {
      {"feed_a", &plan_a_}, {"feed_b", &plan_b_}, {"repeater", &plan_repeater_}};
  if (options_.has_notes) {
    PlanNotes();
    feeds.push_back({std::string(kEarlierVersion), &plan_notes_});
  }
  oracle_.emplace(options_, std::move(feeds), plan_teller_, told_);
}

void Life::PlanNotes() {
  std::vector<PlannedRow>& notes = plan_notes_[std::string(kNoteTable)];
  for (const int64_t roll_ns : rolls_ns_) {
    const FeedPlan plan = PlanRows(random_, random_.Between(1, 30), roll_ns - kBefore + kSecond,
                                   roll_ns + kAfter - kSecond, roll_ns, {});
    for (const auto& [table, rows] : plan) notes.insert(notes.end(), rows.begin(), rows.end());
  }
  std::ranges::stable_sort(notes, {}, &PlannedRow::due_ns);
  notes.push_back({last_rows_ns_, "LAST", 1, 1});
}

// Rows of the whole time, or most of them in one of the two days.
FeedPlan Life::PlanDay(int64_t roll_ns, const std::vector<Silence>& silences) {
  const uint64_t shape = random_.Below(4);
  const int64_t begin_ns = roll_ns - (shape == 0 ? 2 * kSecond : kBefore - kSecond);
  const int64_t end_ns = roll_ns + (shape == 1 ? kSecond : kAfter - kSecond);
  return PlanRows(random_, random_.Between(10, 400), begin_ns, end_ns, roll_ns, silences);
}

// All feeds are silent at once, some of the times soon before the end of the day.
std::vector<Silence> Life::DrawSilences(int64_t roll_ns) {
  std::vector<Silence> silences;
  for (uint64_t n = random_.OneIn(2) ? random_.Below(4) : 0; n > 0; --n) {
    const int64_t begin_ns =
        roll_ns + (random_.OneIn(3) ? -random_.Between(0, kSecond)
                                    : random_.Between(-kBefore + kSecond, kAfter - kSecond));
    const int64_t end_ns = begin_ns + random_.Between(kSecond / 4, kSilenceNsMax);
    silences.push_back({begin_ns, end_ns, OneOf<int64_t>(random_, {1, 20 * kMs, 200 * kMs})});
    silences_ns_[roll_ns].push_back(begin_ns);
    silences_ns_[roll_ns].push_back(end_ns);
  }
  return silences;
}

void Life::StartStack() {
  world_.wires().set_unread_bytes_max(options_.socket_bytes);
  tickerplant_ = &world_.Add("tickerplant", true, [this](Process& process) {
    if (reconfigures_ && random_.OneIn(4)) DrawTickerplantOptions(random_, next_options_);
    absl::StatusOr<std::unique_ptr<Program>> program = StartTickerplant(process, next_options_);
    if (program.ok() && options_.has_notes) {
      static_cast<TickerplantProgram&>(**program).LogNotes(process, plan_notes_);
    }
    return program;
  });
  if (options_.has_notes) {
    world_.Add("scribe", false,
               [this](Process& process) { return StartScribe(process, options_, accepted_); });
  }
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
    return StartRepeater(process, options_, plan_repeater_, "repeater", repeater_rows_);
  });
  if (options_.users != nullptr) {
    world_.Add("stranger", false, [this](Process& process) {
      return StartStranger(process, options_, {"feed_a", "feed_b", "repeater"}, stolen_);
    });
  }
  recorder_ = &world_.Add("recorder", false, [this](Process& process) {
    return StartRecorder(process, options_, false);
  });
  eager_recorder_ = &world_.Add("eager recorder", false, [this](Process& process) {
    return StartRecorder(process, options_, true);
  });
  if (options_.has_exchange) exchange_.emplace(world_, options_, root_ + "_of_feed");
  world_.OnStart([this](Process& process) {
    if (&process != tickerplant_ || process.is_dead()) return;
    NoteReceipts();
    plant_options_ = next_options_;
    was_none_ |= plant_options_.fsync == tplog::FsyncPolicy::kNone;
    log_failed_ns_.reset();
    failed_syncs_ = world_.disk().failed_sync().number;
    refused_calls_ = world_.disk().refused_calls();
    plant_exits_ = tickerplant_->exits_by_itself();
    troubles_->OnMoment(Troubles::Moment::kStart);
    const tickerplant::Tickerplant& plant =
        ProgramOf<TickerplantProgram>(tickerplant_)->service->tickerplant();
    // It knows that a sync failed, so it has written again what that dropped.
    for (const char* const suffix : {"", ".idx"}) {
      if (!plant.log().recovery().sync_failed || unknown_failures_.contains(plant.log().path()))
        break;
      if (!world_.disk().HasDropped(plant.log().path() + suffix)) continue;
      oracle_->Fail("after a failed sync, a start left pages of the log to the kernel");
    }
    oracle_->OnTickerplant(plant, Recorders(), troubles_->has_flipped_bit());
  });
  world_.OnPowerCut([this](Host& machine) {
    if (exchange_) exchange_->OnPowerCut(machine);
    if (&machine != &world_.machine()) return;
    const bool dropped = world_.disk().LostDropped(options_.LogFolder()) && !strict_syncs_;
    oracle_->OnPowerCut(world_, {.fsync = plant_options_.fsync,
                                 .was_none = was_none_,
                                 .unsynced_ns_max = UnsyncedNsMax(),
                                 .dropped = dropped});
    const bool keeps_rows = plant_options_.fsync == tplog::FsyncPolicy::kBatch && !dropped;
    if (exchange_ && !keeps_rows) exchange_->OnRowsLost();
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

// Returns the age from which a row is durable with fsync = "interval": a sync that is under way as
// it is written, an interval, and another sync, of two files each.
int64_t Life::UnsyncedNsMax() const {
  const int64_t now_ns = world_.MonotonicNs();
  const int64_t sync_ns = 2 * plant_options_.fsync_interval_ms * kMs + 4 * sync_ns_max_ + kSlackNs;
  // A stalled tickerplant does not sync, nor does one that is down.
  const bool was_stalled =
      tickerplant_stalled_ns_ >= 0 && now_ns - tickerplant_stalled_ns_ <= kStallNsMax + sync_ns;
  return sync_ns + (was_stalled ? 2 * kStallNsMax : 0) + now_ns - tickerplant_ran_ns_;
}

// Called after each event.
void Life::WatchFeeds() {
  struct Watched {
    const char* name;
    Process* process;
    bool* asks;
  };
  for (const auto& [name, process, asks] :
       {Watched{"feed_a", feed_a_, &feed_a_asks_}, {"feed_b", feed_b_, &feed_b_asks_}}) {
    const auto* const program = ProgramOf<FeedProgram>(process);
    if (program == nullptr) continue;
    const bool asked =
        std::exchange(*asks, program->service->feed().state() == feed::FeedState::kAsking);
    oracle_->OnState(name, *asks);
    if (asked && !*asks) troubles_->OnMoment(Troubles::Moment::kFeedTold);
  }
  if (world_.MonotonicNs() >= next_receipts_ns_) NoteReceipts();
}

// Called after each event.
void Life::WatchExchange() {
  if (!exchange_) return;
  exchange_->Watch();
  if (!exchange_->problem().empty()) oracle_->Fail(exchange_->problem());
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

// True if the last tickerplant was able to note that a sync of `log` had failed: nothing else that
// it asked of the disk was refused, and it ended by itself.
bool Life::CouldNoteFailedSync(const std::string& log) {
  const Disk::FailedSync& failed = world_.disk().failed_sync();
  const bool of_log = failed.path == log || failed.path == log + ".idx";
  const bool only_this = failed.refused_calls == refused_calls_ + 1 &&
                         failed.refused_calls == world_.disk().refused_calls();
  return of_log && failed.process == tickerplant_ && only_this &&
         tickerplant_->exits_by_itself() > plant_exits_;
}

// Called while no tickerplant runs. If the disk refused the note on a failed sync, too, no later
// start knows of it, which the tickerplant reports.
void Life::NoteUnknownFailures() {
  const uint64_t failed_syncs = world_.disk().failed_sync().number;
  if (std::exchange(noted_syncs_, failed_syncs) == failed_syncs) return;
  std::error_code absent;
  for (const auto& entry : std::filesystem::directory_iterator(options_.LogFolder(), absent)) {
    std::string log = entry.path();
    if (!world_.disk().HasDropped(log)) continue;
    if (log.ends_with(".idx")) log.resize(log.size() - 4);
    const absl::StatusOr<tplog::TplogState> state = tplog::ReadTplogState(log);
    if (state.ok() && state->synced.has_value()) continue;
    if (CouldNoteFailedSync(log)) oracle_->Fail("a failed sync of the log was not noted");
    unknown_failures_.insert(log);
  }
}

// Called after each event.
void Life::WatchTickerplant() {
  const uint64_t failed_calls = world_.disk().failed_calls();
  if (std::exchange(failed_calls_, failed_calls) < failed_calls) {
    troubles_->OnMoment(Troubles::Moment::kError);
  }
  const auto* const program = ProgramOf<TickerplantProgram>(tickerplant_);
  if (program == nullptr || tickerplant_->is_dead()) NoteUnknownFailures();
  if (program == nullptr) return;
  tickerplant_ran_ns_ = world_.MonotonicNs();
  if (tickerplant_->is_stalled()) tickerplant_stalled_ns_ = world_.MonotonicNs();
  if (tickerplant_->is_dead()) return;
  const tickerplant::Tickerplant& plant = program->service->tickerplant();
  if (date_ && plant.date() > *date_) troubles_->OnMoment(Troubles::Moment::kDayBegun);
  date_ = plant.date();
  const Disk::FailedSync& failed = world_.disk().failed_sync();
  if (std::exchange(failed_syncs_, failed.number) == failed.number) return;
  const std::string& log = plant.log().path();
  const bool of_log = failed.path == log || failed.path == log + ".idx";
  if (of_log && failed.process == tickerplant_ && !log_failed_ns_) log_failed_ns_ = failed.time_ns;
}

// Called every kLookNs.
void Life::Look() {
  next_look_ns_ = world_.MonotonicNs() + kLookNs;
  if (!accepted_.empty()) oracle_->Fail("no file can store it, and it was accepted: " + accepted_);
  if (!stolen_.empty()) oracle_->Fail("another user got " + stolen_);
  for (const Recorder* const recorder : Recorders()) {
    if (!recorder->problem().empty()) oracle_->Fail("a subscriber: " + recorder->problem());
    const bool lacks = recorder->is_incomplete() && !MayLackLog(recorder->log().path);
    if (lacks && !MayBeIllegible()) oracle_->Fail("a subscriber misses rows");
    for (const auto& [date, rows] : recorder->ended()) {
      if (rows || MayBeIllegible() || MayLackLog(options_.LogPath(date))) continue;
      oracle_->Fail(fmt::format("a subscriber missed rows of {}", FormatDate(date)));
    }
  }
  // A tickerplant ends when its log has failed, because the next one repairs the log.
  if (log_failed_ns_ && ProgramOf<TickerplantProgram>(tickerplant_) != nullptr) {
    const int64_t since_ns = std::max(*log_failed_ns_, tickerplant_stalled_ns_);
    const bool lives_on = world_.MonotonicNs() - since_ns > kFailedNsMax;
    if (lives_on && !tickerplant_->is_dead())
      oracle_->Fail("the tickerplant lives on after a failed sync of its log");
  }
  // An engine that can publish does not keep bars for long. Rows may come between each publication
  // and the next look, so that it always has some.
  const auto* const program = ProgramOf<AggEngineProgram>(engine_);
  const bool waits = program != nullptr && !engine_->is_dead() && !engine_->is_stalled() &&
                     program->service->has_unpublished() && program->engine->unanswered() == 0;
  const uint64_t published = program == nullptr ? 0 : program->engine->counters().messages_out;
  if (!waits || std::exchange(bars_published_, published) != published) {
    bars_wait_since_ns_ = world_.MonotonicNs();
  }
  if (world_.MonotonicNs() - bars_wait_since_ns_ > kBarsWaitNsMax) oracle_->Fail("bars wait");
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
  const absl::StatusOr<tplog::TplogState> log = tplog::ReadTplogState(options_.LogPath(date));
  if (log.ok() && log->open) oracle_->Fail("the log of an ended day is not closed");
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
  // An answer may be lost with its connection.
  const bool waits =
      told_.answers.back() == Told::Answer::kNone && world_.NowNs() < last_rows_ns_ + kAnswerNsMax;
  if (told_.next < told_.answers.size() || waits) {
    return fmt::format("the teller has sent {} rows of {}", told_.next, told_.answers.size());
  }
  if (repeater_rows_ < static_cast<int64_t>(plan_repeater_["trade"].size())) {
    return fmt::format("{} rows of the repeater are logged", repeater_rows_);
  }
  if (options_.has_notes) {
    const auto table = static_cast<size_t>(plant.FindTable(kNoteTable));
    const int64_t logged = plant.LoggedFeedRows(kEarlierVersion)[table];
    if (logged < static_cast<int64_t>(plan_notes_.begin()->second.size())) {
      return fmt::format("{} notes are logged", logged);
    }
  }
  if (exchange_) {
    std::string missing = exchange_->WhatIsMissing();
    if (!missing.empty()) return missing;
  }
  for (const Recorder* const recorder : Recorders()) {
    if (!recorder->is_live()) return "a subscriber is not live";
    if (recorder->log().path != plant.log().path()) return "a subscriber does not know its log";
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
    if (!*FileExists(options_.LogPath(date))) continue;
    const absl::StatusOr<std::string> there = disk::FindPartition(options_.Database(), date);
    if (!there.ok() || there->empty()) return fmt::format("no partition {}", FormatDate(date));
  }
  return "";
}

// A log that could not be read leaves a process incomplete, or is left unrepaired. The process
// reports that, and an operator restarts it once the log is legible.
void Life::RestartIncomplete() {
  if (!troubles_->kinds().read_errors && !troubles_->kinds().flipped_bits) return;
  if (oracle_->HasUnsyncedEndedDay()) world_.Kill(*tickerplant_);
  for (Process* const process : {recorder_, eager_recorder_}) {
    const auto* const program = ProgramOf<RecorderProgram>(process);
    if (program != nullptr && program->recorder->is_incomplete()) world_.Kill(*process);
  }
  const auto* const rdb = ProgramOf<RdbProgram>(rdb_);
  const bool is_rdb_incomplete = rdb != nullptr && (rdb->rdb->counters().incomplete.load() != 0 ||
                                                    rdb->rdb->blocked_day().has_value());
  if (is_rdb_incomplete) world_.Kill(*rdb_);
  const auto* const engine = ProgramOf<AggEngineProgram>(engine_);
  if (engine != nullptr && engine->engine->lacks_rows()) world_.Kill(*engine_);
}

bool Life::HasConverged() { return WhatIsMissing().empty(); }

void Life::DrawNetwork() {
  const uint64_t kind = random_.Below(3);
  if (kind == 0) chances_.slow_read = 10, chances_.slow_read_ns = 20 * kMs;
  if (kind == 1) {
    const bool small = options_.socket_bytes < 10'000;  // Then it also limits the bytes per second.
    chances_.latency_ns_max = small ? 10 * kMs : OneOf<int64_t>(random_, {10 * kMs, 200 * kMs});
  }
  if (random_.OneIn(3)) chances_.short_write = 3;
}

LifeReport Life::Run() {
  StartStack();
  std::vector<Process*> feeds = {feed_a_, feed_b_};
  if (exchange_) feeds.push_back(exchange_->process());
  troubles_.emplace(world_,
                    Troubles::Processes{tickerplant_,
                                        engine_,
                                        rdb_,
                                        std::move(feeds),
                                        {engine_, rdb_, recorder_, eager_recorder_}},
                    days_, [this] { NoteReceipts(); });
  DrawNetwork();
  if (random_.OneIn(2)) world_.disk().set_sector_bytes(512);
  if (random_.OneIn(2)) {
    sync_ns_max_ = OneOf<int64_t>(random_, {kMs, 30 * kMs, 100 * kMs});
    world_.disk().set_sync_ns_max(sync_ns_max_);
  }
  const auto wall = [this](int64_t ns) { return ns - world_.NowNs(); };
  for (const int64_t roll_ns : rolls_ns_) {
    // The night before: the machine sleeps, or its power is cut.
    if (wall(roll_ns - kBefore) > 0) {
      if (troubles_->kinds().power_cuts && random_.OneIn(3)) world_.CutPower();
      world_.AdvanceTo(world_.MonotonicNs() + wall(roll_ns - kBefore));
      bars_wait_since_ns_ = world_.MonotonicNs();
    }
    world_.chances() = chances_;
    const bool calm = random_.OneIn(2);
    if (calm) {
      const tickerplant::DayClock day =
          *tickerplant::DayClock::Create(options_.zone, options_.roll_offset_ns, std::nullopt);
      calm_days_.push_back(day.DateAt(roll_ns - kSecond));
    }
    troubles_->PlanDay(roll_ns, calm, silences_ns_[roll_ns]);
    if (exchange_) exchange_->PlanDay(roll_ns, roll_ns == rolls_ns_.back());
    if (calm) {
      world_.At(world_.MonotonicNs() + wall(roll_ns - kCalmAround), [this] {
        troubles_->CallOff();
        RestartIncomplete();
      });
      world_.At(world_.MonotonicNs() + wall(roll_ns + kCalmRollNs),
                [this, date = calm_days_.back()] { CheckRolled(date); });
    }
    const auto has_failed = [this] {
      WatchTickerplant();
      WatchFeeds();
      WatchExchange();
      WatchKeptDays();
      if (world_.MonotonicNs() >= next_look_ns_) Look();
      return !oracle_->failure().empty();
    };
    world_.RunUntil(has_failed, wall(roll_ns + kAfter));
    if (!oracle_->failure().empty()) break;
    for (const bool has_disk : {false, true}) world_.clock_of(has_disk).set_ahead_ns(0);
  }
  world_.CallOffTrouble();
  troubles_->CallOff();
  if (exchange_) {
    exchange_->CallOffTrouble();
    world_.At(world_.MonotonicNs() + wall(last_rows_ns_),
              [this] { exchange_->exchange().SendMessages(kLastMessages); });
  }
  RestartIncomplete();
  world_.set_restart_ns_max(200 * kMs);
  const int64_t converged_by_ns = world_.MonotonicNs() + kConvergeNsMax;
  while (oracle_->failure().empty() && !(world_.NowNs() > last_rows_ns_ && HasConverged())) {
    world_.RunUntil(
        [this] {
          WatchExchange();
          return false;
        },
        kLookNs);
    Look();
    if (oracle_->expects_damage() && absl::IsDataLoss(tickerplant_->start_error())) {
      return Report();  // It says so, and an operator has to help.
    }
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
                       .calm_days = calm_days_,
                       .begins_ns = begins_ns_,
                       .exchange = exchange_ ? &*exchange_ : nullptr});
  }
  if (oracle_->failure().empty() && !oracle_->expects_damage()) {
    std::string wrong = FindWrongRowsInDamagedFiles(options_, world_.machine(), random_, kFlips);
    if (!wrong.empty()) oracle_->Fail(std::move(wrong));
  }
  return Report();
}

LifeReport Life::Report() {
  return {.failure = oracle_->failure(),
          .trace = world_.trace(),
          .rows = oracle_->rows(),
          .deaths = troubles_->deaths(),
          .power_cuts = world_.power_cuts()};
}

}  // namespace

LifeReport Live(uint64_t seed, int days, const std::string& root, bool strict_syncs) {
  return Life(seed, days, root, strict_syncs).Run();
}

}  // namespace tickstack::simulate
