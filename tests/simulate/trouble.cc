#include "tests/simulate/trouble.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/logging.h"

namespace tickstack::simulate {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = kNsPerSecond;
constexpr int64_t kFullNsMax = 5 * kSecond;
constexpr int64_t kCutOffNsMax = 12 * kSecond;
constexpr int64_t kFlippedNsMax = 3 * kSecond;
constexpr int64_t kHeldNsMax = 3 * kSecond;
constexpr int64_t kBadNsMax = 2 * kSecond;

}  // namespace

Troubles::Troubles(World& world, const Processes& processes, int days, std::function<void()> before)
    : world_(world), random_(world.random()), processes_(processes), before_(std::move(before)) {
  kinds_ = {.deaths = random_.OneIn(2),
            .power_cuts = random_.OneIn(2),
            .resets = random_.OneIn(2),
            .stalls = random_.OneIn(3),
            .stops = random_.OneIn(3),
            .clocks = random_.OneIn(4),
            .full_disks = random_.OneIn(4),
            .write_errors = random_.OneIn(4),
            .sync_errors = random_.OneIn(4),
            .read_errors = random_.OneIn(4),
            .bad_disks = random_.OneIn(6),
            .flipped_bits = random_.OneIn(4),
            .cut_offs = random_.OneIn(3),
            .holds = random_.OneIn(3)};
  if (kinds_.bad_disks) kinds_.write_errors = kinds_.sync_errors = kinds_.read_errors = true;
  // What a power cut took is recognised by its age, which a clock that was set hides.
  if (kinds_.power_cuts) kinds_.clocks = false;
  // After a power cut or a failed sync, a block with a flipped bit looks like one that was lost.
  if (kinds_.power_cuts || kinds_.sync_errors) kinds_.flipped_bits = false;
  // An old log that lacks what a sync dropped is damaged: that is looked at in lives of one day.
  if (days > 1 && kinds_.power_cuts) kinds_.sync_errors = false;
}

void Troubles::CallOff() {
  world_.CallOffDeaths();
  world_.CallOffCutOffs();
  world_.disk().CallOffErrors();
  ambushes_.clear();
  flipped_bits_.clear();
  ++times_called_off_;
}

// ---- when

// Troubles often come together, many of them at the end of the day. All of them begin before the
// time that the life has for the day is over, as then the stack has to converge.
int64_t Troubles::DrawTime() {
  constexpr int64_t kFirst = -kBefore + kSecond, kLast = kAfter - kSecond;
  if (clusters_ns_.empty() || random_.OneIn(3)) return random_.Between(kFirst, kLast);
  const int64_t spread_ns = kMs << random_.Below(11);
  const int64_t at_ns = OneOf(random_, clusters_ns_) + random_.Between(-spread_ns, spread_ns);
  return std::clamp(at_ns, kFirst, kLast);
}

void Troubles::PlanDay(int64_t roll_ns, bool calm, const std::vector<int64_t>& silences_ns) {
  clusters_ns_.clear();
  for (uint64_t n = random_.Below(3); n > 0; --n) {
    clusters_ns_.push_back(random_.OneIn(2) ? 0 : random_.Between(-kBefore + kSecond, kAfter / 2));
  }
  for (const int64_t at_ns : silences_ns) clusters_ns_.push_back(at_ns - roll_ns);
  const auto plan = [&](Trouble trouble, int64_t times_max) {
    for (int64_t n = random_.Between(0, times_max); n > 0; --n) {
      const int64_t at_ns = roll_ns + DrawTime();
      if (calm && at_ns > roll_ns - kCalmAround && at_ns < roll_ns + kCalmAround) continue;
      world_.At(world_.MonotonicNs() + at_ns - world_.NowNs(), [this, trouble] { Begin(trouble); });
    }
  };
  if (kinds_.deaths) plan(Trouble::kDeath, 3), plan(Trouble::kDeathInAChange, 4);
  if (kinds_.power_cuts) plan(Trouble::kPowerCut, 1), plan(Trouble::kPowerCutInAChange, 2);
  if (kinds_.deaths || kinds_.power_cuts) plan(Trouble::kAmbush, 4);
  if (kinds_.resets) plan(Trouble::kReset, 8), plan(Trouble::kResetOfASubscriber, 3);
  if (kinds_.holds) plan(Trouble::kHold, 6);
  if (kinds_.stalls) plan(Trouble::kStall, 4);
  if (kinds_.stops) plan(Trouble::kStop, 2);
  if (kinds_.full_disks) plan(Trouble::kFullDisk, 3);
  if (kinds_.write_errors) plan(Trouble::kWriteError, 4);
  if (kinds_.sync_errors) plan(Trouble::kSyncError, 3);
  if (kinds_.read_errors) plan(Trouble::kReadError, 4);
  if (kinds_.bad_disks) plan(Trouble::kBadDisk, 2);
  if (kinds_.flipped_bits) plan(Trouble::kFlippedBit, 3);
  if (kinds_.cut_offs) plan(Trouble::kCutOff, 4);
  // A day that a wrong clock ends is not calm.
  if (kinds_.clocks && !calm) plan(Trouble::kSetClock, 4);
}

void Troubles::GoOn(int64_t ns, std::function<void()> trouble) {
  world_.At(world_.MonotonicNs() + ns,
            [this, trouble = std::move(trouble), times_called_off = times_called_off_] {
              if (times_called_off == times_called_off_) trouble();
            });
}

// Lies in wait for a moment, and often makes it come soon.
void Troubles::LieInWait() {
  std::vector<Moment> moments = {Moment::kStart, Moment::kDayBegun, Moment::kFeedTold,
                                 Moment::kQuiet};
  if (kinds_.write_errors) moments.push_back(Moment::kError);
  const Moment moment = OneOf(random_, moments);
  ambushes_.push_back({moment, DrawBlow()});
  switch (moment) {
    case Moment::kStart:
      return EndTickerplant();
    case Moment::kDayBegun:
      return;
    case Moment::kFeedTold:
      if (random_.OneIn(3)) return world_.CutOff(*OneOf(random_, processes_.feeds), kMs);
      return EndTickerplant();
    case Moment::kQuiet:
      return WaitForQuiet(kMs << random_.Below(12));
    case Moment::kError:
      return FailCall(Disk::Call::kWrite);
  }
}

// Waits until no file has changed for `quiet_ns`.
void Troubles::WaitForQuiet(int64_t quiet_ns) {
  const int64_t wait_ns = world_.changed_ns() + quiet_ns - world_.MonotonicNs();
  if (wait_ns <= 0) return OnMoment(Moment::kQuiet);
  GoOn(wait_ns, [this, quiet_ns] { WaitForQuiet(quiet_ns); });
}

void Troubles::OnMoment(Moment moment) {
  for (const Ambush& ambush : std::exchange(ambushes_, {})) {
    if (ambush.moment != moment) {
      ambushes_.push_back(ambush);
      continue;
    }
    const int64_t wait_ns = random_.OneIn(2) ? 0 : random_.Between(0, kMs << random_.Below(9));
    GoOn(wait_ns, [this, blow = ambush.blow] { Strike(blow); });
  }
}

// ---- what

void Troubles::Begin(Trouble trouble) {
  before_();
  std::vector<Process*> killed = {processes_.tickerplant, processes_.engine, processes_.rdb};
  killed.insert(killed.end(), processes_.feeds.begin(), processes_.feeds.end());
  Process& process = *OneOf(random_, killed);
  Process& any = *world_.processes()[random_.Below(world_.processes().size())];
  Process& writer = random_.OneIn(2) ? *processes_.tickerplant : *processes_.rdb;
  switch (trouble) {
    case Trouble::kDeath:
      ++deaths_;
      return world_.Kill(process);
    case Trouble::kDeathInAChange:
      ++deaths_;
      if (random_.OneIn(2)) {
        world_.DieAfterNextStart(*processes_.tickerplant, DrawDeath(false));
      }
      return world_.DieIn(writer, DrawDeath(false));
    case Trouble::kPowerCut:
      return world_.CutPower();
    case Trouble::kPowerCutInAChange:
      if (random_.OneIn(2)) world_.DieAfterNextStart(*processes_.tickerplant, DrawDeath(true));
      return world_.DieIn(writer, DrawDeath(random_.OneIn(2)));
    case Trouble::kAmbush:
      return LieInWait();
    case Trouble::kReset:
      return world_.connections().ResetOne(random_.Next());
    case Trouble::kResetOfASubscriber:
      return world_.connections().ResetAllOf(*OneOf(random_, processes_.subscribers));
    case Trouble::kHold:
      return world_.connections().HoldOne(random_.Next(),
                                          world_.MonotonicNs() + random_.Between(kMs, kHeldNsMax));
    case Trouble::kStall:
      return world_.Stall(any, random_.Between(kMs, kStallNsMax));
    case Trouble::kStop:
      return world_.StopInOrder(process);
    case Trouble::kSetClock:
      return SetClock();
    case Trouble::kFullDisk:
      return FillDisk();
    case Trouble::kWriteError:
      return FailCall(Disk::Call::kWrite);
    case Trouble::kSyncError:
      return FailCall(Disk::Call::kSync);
    case Trouble::kReadError:
      return FailCall(Disk::Call::kRead);
    case Trouble::kBadDisk:
      return SpoilDisk();
    case Trouble::kFlippedBit:
      return FlipBit();
    case Trouble::kCutOff:
      return world_.CutOff(any, random_.Between(kMs, kCutOffNsMax));
  }
}

Death Troubles::DrawDeath(bool is_power_cut) {
  const auto in =
      OneOf<Death::In>(random_, {Death::In::kChange, Death::In::kChange, Death::In::kNameChange,
                                 Death::In::kLargeWrite, Death::In::kSync});
  const uint64_t steps_max = (in == Death::In::kChange ? 100u : 12u) >> random_.Below(7);
  return {in, static_cast<int64_t>(random_.Below(1 + steps_max)), is_power_cut};
}

Troubles::Blow Troubles::DrawBlow() {
  std::vector<Blow> blows;
  if (kinds_.deaths) blows.insert(blows.end(), {Blow::kDeath, Blow::kDeathInAChange});
  if (kinds_.power_cuts) blows.insert(blows.end(), {Blow::kPowerCut, Blow::kPowerCutInAChange});
  if (kinds_.bad_disks) blows.push_back(Blow::kBadDisk);
  return OneOf(random_, blows);
}

void Troubles::Strike(Blow blow) {
  before_();
  // One of the first changes from now on.
  const auto soon = [this](bool is_power_cut) {
    return Death{OneOf<Death::In>(random_, {Death::In::kChange, Death::In::kSync}),
                 static_cast<int64_t>(random_.Below(1 + (12u >> random_.Below(4)))), is_power_cut};
  };
  switch (blow) {
    case Blow::kDeath:
      ++deaths_;
      return world_.Kill(*processes_.tickerplant);
    case Blow::kDeathInAChange:
      ++deaths_;
      return world_.DieIn(*processes_.tickerplant, soon(false));
    case Blow::kPowerCut:
      return world_.CutPower();
    case Blow::kPowerCutInAChange:
      return world_.DieIn(*processes_.tickerplant, soon(true));
    case Blow::kBadDisk:
      return SpoilDisk();
  }
}

// Kills the tickerplant, or lets it die in a change.
void Troubles::EndTickerplant() {
  ++deaths_;
  if (random_.OneIn(2)) return world_.Kill(*processes_.tickerplant);
  world_.DieIn(*processes_.tickerplant, DrawDeath(false));
}

// While the disk is full, a feed may lose its connection, and so ask for its rows, and the
// tickerplant may die, also as soon as it has answered.
void Troubles::FillDisk() {
  world_.disk().set_full(true);
  const int64_t full_ns = random_.Between(kMs, kFullNsMax);
  GoOn(full_ns, [this] { world_.disk().set_full(false); });
  if (random_.OneIn(2)) {
    GoOn(random_.Between(0, full_ns / 2), [this] {
      if (kinds_.deaths && random_.OneIn(2)) ambushes_.push_back({Moment::kFeedTold, Blow::kDeath});
      world_.CutOff(*OneOf(random_, processes_.feeds), kMs);
    });
  }
  if (!kinds_.deaths || !random_.OneIn(2)) return;
  GoOn(random_.Between(0, full_ns), [this] {
    if (!world_.disk().is_full()) return;
    before_();
    world_.Kill(*processes_.tickerplant);
  });
}

// Lets one of the next calls fail: of any process, or of one that writes.
void Troubles::FailCall(Disk::Call call) {
  const Process* const writer = random_.OneIn(2) ? processes_.tickerplant : processes_.rdb;
  world_.disk().FailCall(call, random_.OneIn(3) ? nullptr : writer,
                         random_.Below(1u << random_.Below(7)));
}

// For a while, calls fail at random.
void Troubles::SpoilDisk() {
  constexpr Disk::Call kCalls[] = {Disk::Call::kRead, Disk::Call::kWrite, Disk::Call::kSync};
  for (const Disk::Call call : kCalls) {
    if (call == Disk::Call::kSync && !kinds_.sync_errors) continue;
    world_.disk().FailCalls(call, OneOf<uint64_t>(random_, {0, 2, 8, 32}));
  }
  GoOn(random_.Between(kMs, kBadNsMax), [this, kCalls] {
    for (const Disk::Call call : kCalls) world_.disk().FailCalls(call, 0);
  });
}

// Flips a bit of the current log, its index or its state while the tickerplant does not run. An
// operator mends the file after a while.
void Troubles::FlipBit() {
  Process& tickerplant = *processes_.tickerplant;
  const auto* const program = static_cast<TickerplantProgram*>(tickerplant.program());
  if (program == nullptr || tickerplant.is_dead()) return;
  const std::string log = program->service->tickerplant().log().path();
  world_.Kill(tickerplant);
  // The next event: the tickerplant has ended, and does not run again yet.
  GoOn(0, [this, log] {
    const std::string path = log + OneOf<std::string>(random_, {"", ".idx", ".state"});
    std::error_code absent;
    const uint64_t bytes = std::filesystem::file_size(path, absent);
    if (processes_.tickerplant->program() != nullptr || absent || bytes == 0) return;
    if (!flipped_bits_.empty()) return;  // Two may be too many to be recognised.
    flipped_bits_.push_back(FlippedBit::Draw(path, random_));
    LogInfo("simulated damage {}", flipped_bits_.back()->where());
    world_.Trace("flipped bit", bytes);
    GoOn(random_.Between(0, kFlippedNsMax), [this] {
      if (!flipped_bits_.empty()) flipped_bits_.erase(flipped_bits_.begin());
    });
  });
}

// Sets a machine's clock, or sets it right.
void Troubles::SetClock() {
  const auto most_ns = OneOf<int64_t>(random_, {kSecond, 60 * kSecond, 6 * 3600 * kSecond});
  const int64_t ahead_ns = random_.OneIn(3) ? 0 : random_.Between(-most_ns, most_ns);
  const bool has_disk = random_.OneIn(2);
  LogInfo("simulated clock has_disk={} ahead_ms={}", has_disk, ahead_ns / kMs);
  world_.clock_of(has_disk).set_ahead_ns(ahead_ns);
}

}  // namespace tickstack::simulate
