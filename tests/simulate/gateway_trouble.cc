#include "tests/simulate/gateway_trouble.h"

#include <algorithm>

#include "base/logging.h"

namespace tickstack::simulate {
namespace {

constexpr int64_t kMs = 1'000'000;

}  // namespace

GatewayTroubles::GatewayTroubles(World& world, const Processes& processes, GatewayState& state,
                                 bool keeps_rows)
    : world_(world), random_(world.random()), processes_(processes), state_(state) {
  all_ = processes_.rdbs;
  all_.insert(all_.end(), {processes_.tickerplant, processes_.hdb, processes_.gateway});
  // In some lives only one process is hit, so that the others must answer without an error.
  if (random_.OneIn(4)) all_ = {OneOf(random_, all_)};
  const auto add = [this](uint64_t one_in, std::vector<Trouble> troubles) {
    if (random_.OneIn(one_in)) {
      possible_.insert(possible_.end(), troubles.begin(), troubles.end());
    }
  };
  add(2, {Trouble::kDeath, Trouble::kDeath, Trouble::kDeathInAChange, Trouble::kDown});
  if (keeps_rows) add(2, {Trouble::kPowerCut, Trouble::kPowerCutInAChange});
  add(2, {Trouble::kStall, Trouble::kStall});
  add(4, {Trouble::kCutOff});
  add(4, {Trouble::kPartition, Trouble::kPartition});
  add(4, {Trouble::kReset, Trouble::kResetOfOne});
  add(4, {Trouble::kHold});
}

// ---- when

void GatewayTroubles::Plan(int64_t roll_ns, int64_t end_ns) {
  if (possible_.empty()) return;
  const int64_t now_ns = world_.MonotonicNs();
  std::vector<int64_t> clusters_ns;
  for (uint64_t n = random_.Below(3); n > 0; --n) {
    clusters_ns.push_back(random_.OneIn(2) ? roll_ns : random_.Between(now_ns, end_ns));
  }
  for (int64_t n = random_.Between(1, 10); n > 0; --n) {
    int64_t at_ns = random_.Between(now_ns, end_ns);
    if (!clusters_ns.empty() && !random_.OneIn(3)) {
      const int64_t spread_ns = kMs << random_.Below(12);
      at_ns = OneOf(random_, clusters_ns) + random_.Between(-spread_ns, spread_ns);
    }
    at_ns = std::clamp(at_ns, now_ns, end_ns);
    const Trouble trouble = random_.OneIn(3) ? Trouble::kAmbush : OneOf(random_, possible_);
    At(at_ns - now_ns, [this, trouble] { Begin(trouble); });
  }
}

void GatewayTroubles::At(int64_t ns, std::function<void()> trouble) {
  world_.At(world_.MonotonicNs() + ns, [this, trouble = std::move(trouble)] {
    if (!is_over_) trouble();
  });
}

void GatewayTroubles::CallOff() {
  is_over_ = true;
  ambushes_.clear();
  world_.CallOffTrouble();
}

void GatewayTroubles::OnMoment(Moment moment) {
  for (const auto& ambush : std::exchange(ambushes_, {})) {
    if (ambush.first != moment) {
      ambushes_.push_back(ambush);
      continue;
    }
    const int64_t wait_ns = random_.OneIn(2) ? 0 : random_.Between(0, kMs << random_.Below(9));
    At(wait_ns, [this, trouble = ambush.second] { Begin(trouble); });
  }
}

// ---- what

Process& GatewayTroubles::PickProcess() { return *OneOf(random_, all_); }

// From 1 ms to 4 s.
int64_t GatewayTroubles::DrawLength() { return random_.Between(kMs, kMs << random_.Below(13)); }

int64_t GatewayTroubles::DrawSteps() {
  return static_cast<int64_t>(random_.Below(1 + (100u >> random_.Below(7))));
}

void GatewayTroubles::Begin(Trouble trouble) {
  const int64_t now_ns = world_.MonotonicNs();
  Process& process = PickProcess();
  // True for the first rdb and the tickerplant, which write files.
  const bool hits_writer = &process == processes_.rdbs[0] || &process == processes_.tickerplant;
  switch (trouble) {
    case Trouble::kDeathInAChange:
      ++deaths_;
      if (hits_writer) return world_.DieIn(process, {.steps = DrawSteps()});
      return world_.Kill(process);
    case Trouble::kDeath:
      ++deaths_;
      return world_.Kill(process);
    case Trouble::kDown:
      ++deaths_;
      return world_.KeepDown(process, DrawLength());
    case Trouble::kPowerCut:
      return world_.CutPower();
    case Trouble::kPowerCutInAChange:
      return world_.DieIn(random_.OneIn(2) ? *processes_.rdbs[0] : *processes_.tickerplant,
                          {.in = OneOf<Death::In>(random_, {Death::In::kChange, Death::In::kSync}),
                           .steps = DrawSteps(),
                           .is_power_cut = true});
    case Trouble::kStall:
      return world_.Stall(process, DrawLength());
    case Trouble::kCutOff:
      return world_.CutOff(process, DrawLength());
    case Trouble::kPartition:
      return CutNetwork();
    case Trouble::kReset:
      state_.OnNetworkTrouble(now_ns);
      return world_.connections().ResetOne(random_.Next());
    case Trouble::kResetOfOne:
      state_.OnNetworkTrouble(now_ns);
      return world_.connections().ResetAllOf(process);
    case Trouble::kHold: {
      const int64_t until_ns = now_ns + DrawLength();
      state_.OnNetworkTrouble(until_ns);
      return world_.connections().HoldOne(random_.Next(), until_ns);
    }
    case Trouble::kAmbush:
      ambushes_.emplace_back(static_cast<Moment>(random_.Below(7)), OneOf(random_, possible_));
      return;
  }
}

// What two processes send to each other, or one to the other, arrives later.
void GatewayTroubles::CutNetwork() {
  const int64_t until_ns = world_.MonotonicNs() + DrawLength();
  state_.OnNetworkTrouble(until_ns);
  Process& one = PickProcess();
  std::vector<Process*> others = processes_.rdbs;
  others.insert(others.end(), {processes_.tickerplant, processes_.hdb, processes_.gateway});
  if (!random_.OneIn(3)) others = {OneOf(random_, others)};
  const bool both_ways = random_.OneIn(2);
  for (Process* const other : others) {
    world_.connections().Cut(one, *other, until_ns);
    if (both_ways) world_.connections().Cut(*other, one, until_ns);
  }
}

}  // namespace tickstack::simulate
