#include "tests/simulate/gateway_life.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/status.h"
#include "disk/partition_writer.h"
#include "tests/simulate/gateway_check.h"
#include "tests/simulate/gateway_trouble.h"
#include "tickerplant/day_clock.h"

namespace tickstack::simulate {
namespace {

using Moment = GatewayTroubles::Moment;

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = kNsPerSecond;
constexpr int64_t kBeforeRoll = 7 * kSecond, kAfterRoll = 8 * kSecond;
constexpr int64_t kLastRowsNs = 2 * kSecond;  // After the trouble, when the last rows are due.
constexpr int64_t kConvergeNsMax = 60 * kSecond;
constexpr int64_t kEndNsMax = 20 * kSecond;  // For an answer to each kind of question.
constexpr int64_t kLookNs = 50 * kMs;
constexpr size_t kAskers = 2;

class GatewayLife {
 public:
  GatewayLife(uint64_t seed, int days, const std::string& root)
      : days_(days),
        world_(seed, root, 0),
        random_(world_.random()),
        options_(DrawGatewayOptions(random_, root + "/data")) {
    if (random_.OneIn(2)) options_.stack.fsync = tplog::FsyncPolicy::kBatch;
    Plan();
  }
  ~GatewayLife() { world_.End(); }

  LifeReport Run();

 private:
  void Plan();
  void StartProcesses();
  void DrawNetwork();
  void OnStart(const Process& process);
  void Watch();
  void WatchDay();
  bool HasFailed();
  std::string WhatIsMissing();
  std::string WhatTheGatewayLacks();
  void AwaitEnd();
  void CheckEnd();
  LifeReport Report();

  const int days_;
  World world_;
  Random& random_;
  GatewayOptions options_;
  std::vector<int64_t> rolls_ns_;  // Wall-clock times.
  int32_t first_day_ = 0, last_day_ = 0;
  int64_t last_rows_ns_ = 0;
  FeedPlan plan_a_, plan_b_;
  std::vector<Process*> feeds_;
  std::optional<GatewayCheck> check_;
  std::optional<GatewayState> state_;
  std::optional<GatewayTroubles> troubles_;
  GatewayState::Processes processes_;
  int64_t next_look_ns_ = 0;
  int64_t rows_ = 0;
  // As it was last looked at.
  int32_t date_ = 0;
  uint64_t days_written_ = 0;
  size_t days_kept_ = 0, days_loaded_ = 0;
};

void GatewayLife::Plan() {
  const tickerplant::DayClock day = *tickerplant::DayClock::Create(
      options_.stack.zone, options_.stack.roll_offset_ns, std::nullopt);
  int64_t roll_ns = (DaysFromCivil(2024, 1, 1) + random_.Between(0, 400)) * kNsPerDay;
  for (int i = 0; i < days_; ++i) rolls_ns_.push_back(roll_ns = day.NextRollAfter(roll_ns));
  first_day_ = day.DateAt(rolls_ns_.front() - 1);
  last_day_ = day.DateAt(rolls_ns_.back() + kAfterRoll);
  world_.JumpClock(rolls_ns_.front() - kBeforeRoll - world_.NowNs());
  last_rows_ns_ = rolls_ns_.back() + kAfterRoll + kLastRowsNs;
  for (FeedPlan* const plan : {&plan_a_, &plan_b_}) {
    *plan = {{"trade", {}}, {"quote", {}}};
    for (const int64_t roll : rolls_ns_) {
      FeedPlan of_day =
          PlanRows(random_, random_.Between(10, 300), roll - kBeforeRoll + kSecond / 2,
                   roll + kAfterRoll - kSecond, roll, {});
      for (auto& [table, rows] : of_day) {
        (*plan)[table].insert((*plan)[table].end(), rows.begin(), rows.end());
      }
    }
    for (auto& [table, rows] : *plan) rows.push_back({last_rows_ns_, "LAST", 1, 1});
    // So that a partition has them in their order (gateway_question.h).
    for (PlannedRow& row : (*plan)["trade"]) row.sym = plan == &plan_a_ ? "A" : "B";
  }
  check_.emplace(world_, options_, first_day_, last_day_);
}

void GatewayLife::StartProcesses() {
  world_.wires().set_unread_bytes_max(options_.stack.socket_bytes);
  processes_.tickerplant = &world_.Add("tickerplant", true, [this](Process& process) {
    return StartTickerplant(process, options_.stack);
  });
  for (const size_t number : {size_t{0}, size_t{1}}) {
    processes_.rdbs.push_back(&world_.Add(
        number == 0 ? "rdb" : "rdb2", number == 0,
        [this, number](Process& process) { return StartServingRdb(process, options_, number); }));
  }
  processes_.hdb =
      &world_.Add("hdb", true, [this](Process& process) { return StartHdb(process, options_); });
  processes_.gateway = &world_.Add(
      "gateway", false, [this](Process& process) { return StartGateway(process, options_); });
  feeds_ = {&world_.Add("feed_a", false,
                        [this](Process& process) {
                          return StartFeed(process, options_.stack, "feed_a", plan_a_);
                        }),
            &world_.Add("feed_b", false, [this](Process& process) {
              return StartFeed(process, options_.stack, "feed_b", plan_b_);
            })};
  const auto pause_ns_max = OneOf<int64_t>(random_, {20 * kMs, 60 * kMs, 150 * kMs});
  for (size_t number = 0; number < kAskers; ++number) {
    processes_.askers.push_back(
        &world_.Add(fmt::format("asker {}", number), false, [this, pause_ns_max](Process& process) {
          return StartAsker(process, kGatewayPort, pause_ns_max, *check_);
        }));
  }
  state_.emplace(world_, processes_, options_, [this](size_t rdb) {
    check_->OnCaughtUp(rdb);
    troubles_->OnMoment(Moment::kCaughtUp);
  });
  check_->set_state(&*state_);
  const bool keeps_rows = options_.stack.fsync == tplog::FsyncPolicy::kBatch;
  troubles_.emplace(world_, processes_, *state_, keeps_rows);
  world_.OnStart([this](Process& process) { OnStart(process); });
}

void GatewayLife::OnStart(const Process& process) {
  if (process.starts() > 1) troubles_->OnMoment(Moment::kStart);
  if (&process == processes_.rdbs[0]) days_kept_ = days_written_ = 0;
  if (&process == processes_.hdb) days_loaded_ = state_->hdb()->Days().size();
}

void GatewayLife::DrawNetwork() {
  const uint64_t network = random_.Below(3);
  if (network == 0) world_.chances().slow_read = 10, world_.chances().slow_read_ns = 5 * kMs;
  if (network == 1) world_.chances().latency_ns_max = 5 * kMs;
  if (random_.OneIn(3)) world_.chances().short_write = 3;
  if (random_.OneIn(2)) world_.disk().set_sync_ns_max(OneOf<int64_t>(random_, {kMs, 30 * kMs}));
  world_.set_restart_ns_max(OneOf<int64_t>(random_, {kSecond / 5, 2 * kSecond}));
}

// Called after each event.
void GatewayLife::Watch() {
  state_->Watch();
  WatchDay();
  if (world_.MonotonicNs() < next_look_ns_) return;
  next_look_ns_ = world_.MonotonicNs() + kLookNs;
  state_->Look();
  check_->Look();
  if (processes_.gateway->exits_by_itself() > 0) check_->Fail("the gateway ended by itself");
}

// Where the day that ends is now.
void GatewayLife::WatchDay() {
  if (const tickerplant::Tickerplant* const plant = state_->plant()) {
    if (std::exchange(date_, plant->date()) < plant->date()) {
      troubles_->OnMoment(Moment::kDayBegun);
    }
  }
  if (const ServingRdbProgram* const rdb = state_->rdb(0)) {
    const size_t kept = rdb->rdb->days_kept();
    const size_t before = std::exchange(days_kept_, kept);
    if (before != kept) troubles_->OnMoment(before < kept ? Moment::kDayKept : Moment::kDropped);
    const uint64_t written = rdb->rdb->counters().days_written.load();
    if (std::exchange(days_written_, written) < written) troubles_->OnMoment(Moment::kWritten);
  }
  if (const HdbProgram* const hdb = state_->hdb()) {
    const size_t loaded = hdb->Days().size();
    if (std::exchange(days_loaded_, loaded) < loaded) troubles_->OnMoment(Moment::kLoaded);
  }
}

bool GatewayLife::HasFailed() {
  Watch();
  return !check_->failure().empty();
}

// ---- the end

std::string GatewayLife::WhatIsMissing() {
  for (const std::unique_ptr<Process>& process : world_.processes()) {
    if (process->program() == nullptr) {
      return fmt::format("{} does not run: {}", process->name(), process->start_error().ToString());
    }
  }
  const tickerplant::Tickerplant& plant = *state_->plant();
  for (Process* const process : feeds_) {
    const feed::Feed& feed = static_cast<FeedProgram*>(process->program())->service->feed();
    if (feed.state() != feed::FeedState::kDone) {
      return fmt::format("{} is {}: {}", process->name(), feed::NameOf(feed.state()),
                         feed.error().ToString());
    }
  }
  if (plant.date() != last_day_) return fmt::format("the day is {}", FormatDate(plant.date()));
  if (plant.has_staged()) return "rows are staged";
  for (size_t number = 0; number < state_->rdbs(); ++number) {
    const rdb::Rdb& rdb = *state_->rdb(number)->rdb;
    const std::string& name = processes_.rdbs[number]->name();
    if (rdb.counters().live.load() == 0) return name + " is not live";
    if (rdb.days_kept() > 0) return name + " keeps a day";
    if (const std::optional<rdb::BlockedDay> blocked = rdb.blocked_day()) return blocked->why;
    const std::vector<LogPosition> held = state_->HeldBy(number);
    if (held.empty() || held.back().day != last_day_) return name + " has another day";
    for (const auto& [table, rows] : plant.log().totals().rows) {
      const auto found = held.back().rows.find(std::string(table));
      if (found != held.back().rows.end() && found->second < static_cast<int64_t>(rows)) {
        return name + " lacks rows";
      }
    }
  }
  const std::vector<int32_t> loaded = state_->hdb()->Days();
  if (loaded.size() != static_cast<size_t>(last_day_ - first_day_)) {
    return fmt::format("the hdb has {} days", loaded.size());
  }
  return WhatTheGatewayLacks();
}

std::string GatewayLife::WhatTheGatewayLacks() {
  const std::optional<absl::StatusOr<Value>> replicas =
      state_->gateway()->environment->Call(".gateway.replicas", {});
  if (!replicas || !replicas->ok()) return "no .gateway.replicas";
  const Value* const states = (*replicas)->FindColumn("state");
  for (size_t i = 0; i < states->count(); ++i) {
    if (states->symbols()[i] != "live") {
      return fmt::format("replica {} is {}", i, states->symbols()[i]);
    }
  }
  return "";
}

// All kinds of questions are asked once more.
void GatewayLife::AwaitEnd() {
  world_.RunUntil([this] { return HasFailed(); }, GatewayState::kSettleNs);
  if (check_->failure().empty() && !WhatIsMissing().empty()) {
    check_->Fail("converged, but not for long: " + WhatIsMissing());
  }
  check_->BeginEnd();
  world_.RunUntil([this] { return HasFailed() || check_->HasEnd(); }, kEndNsMax);
  if (check_->failure().empty() && !check_->HasEnd()) check_->Fail("questions are not answered");
}

void GatewayLife::CheckEnd() {
  world_.Enter(world_.machine());
  const absl::StatusOr<GatewayTruth> truth =
      GatewayTruth::Read(options_.stack, first_day_, last_day_);
  if (!truth.ok()) return check_->Fail(std::string(Message(truth.status())));
  rows_ = truth->rows();
  check_->CheckEnd(*truth);
}

LifeReport GatewayLife::Report() {
  return {.failure = check_->failure(),
          .trace = world_.trace(),
          .rows = rows_,
          .deaths = troubles_->deaths(),
          .power_cuts = world_.power_cuts(),
          .answers = check_->answers(),
          .errors = check_->errors()};
}

LifeReport GatewayLife::Run() {
  StartProcesses();
  DrawNetwork();
  const auto has_failed = [this] { return HasFailed(); };
  const auto until = [this](int64_t wall_ns) { return wall_ns - world_.NowNs(); };
  for (const int64_t roll_ns : rolls_ns_) {
    // All machines sleep during the night.
    world_.AdvanceTo(world_.MonotonicNs() + until(roll_ns - kBeforeRoll));
    const int64_t to_monotonic_ns = world_.MonotonicNs() - world_.NowNs();
    state_->OnNetworkTrouble(world_.MonotonicNs());
    troubles_->Plan(roll_ns + to_monotonic_ns, roll_ns + kAfterRoll + to_monotonic_ns);
    world_.RunUntil(has_failed, until(roll_ns + kAfterRoll));
  }
  troubles_->CallOff();
  world_.set_restart_ns_max(kSecond / 5);
  const int64_t converged_by_ns = world_.MonotonicNs() + kConvergeNsMax;
  while (check_->failure().empty() &&
         !(world_.NowNs() > last_rows_ns_ && WhatIsMissing().empty())) {
    world_.RunUntil(has_failed, kLookNs);
    if (world_.MonotonicNs() > converged_by_ns) check_->Fail("no convergence: " + WhatIsMissing());
  }
  if (check_->failure().empty()) AwaitEnd();
  if (check_->failure().empty()) CheckEnd();
  return Report();
}

}  // namespace

LifeReport LiveWithGateway(uint64_t seed, int days, const std::string& root) {
  return GatewayLife(seed, days, root).Run();
}

}  // namespace tickstack::simulate
