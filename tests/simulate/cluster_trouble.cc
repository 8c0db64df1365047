#include "tests/simulate/cluster_trouble.h"

#include <algorithm>
#include <utility>

#include "base/logging.h"

namespace tickstack::simulate {
namespace {

constexpr int64_t kMs = 1'000'000;
constexpr int64_t kSecond = kNsPerSecond;

}  // namespace

ClusterTroubles::ClusterTroubles(World& world, Store& store, Topics& topics, Processes processes,
                                 bool keeps_rows, std::function<Process*()> leader,
                                 std::function<bool(Process&)> may_lose)
    : world_(world),
      random_(world.random()),
      store_(store),
      topics_(topics),
      processes_(std::move(processes)),
      keeps_rows_(keeps_rows),
      leader_(std::move(leader)),
      may_lose_(std::move(may_lose)) {
  kinds_ = {.deaths = random_.OneIn(2),
            .power_cuts = random_.OneIn(2),
            .disk_losses = random_.OneIn(4),
            .full_disks = random_.OneIn(4),
            .stalls = random_.OneIn(2),
            .partitions = random_.OneIn(2),
            .store = random_.OneIn(2),
            .resets = random_.OneIn(3),
            .holds = random_.OneIn(3),
            .clients = random_.OneIn(2),
            .chained = random_.OneIn(2),
            .bridge = random_.OneIn(2)};
  const auto add = [this](bool has, std::vector<Trouble> troubles) {
    if (has) possible_.insert(possible_.end(), troubles.begin(), troubles.end());
  };
  add(kinds_.deaths, {Trouble::kDeath, Trouble::kDeath, Trouble::kDeathInAChange});
  add(kinds_.power_cuts, {Trouble::kPowerCut, Trouble::kPowerCutInAChange});
  add(kinds_.disk_losses, {Trouble::kDiskLoss});
  add(kinds_.full_disks, {Trouble::kFullDisk});
  add(kinds_.stalls, {Trouble::kStall, Trouble::kStall});
  add(kinds_.partitions, {Trouble::kPartition, Trouble::kPartition, Trouble::kPartition});
  add(kinds_.store, {Trouble::kStore, Trouble::kStore});
  add(kinds_.resets, {Trouble::kReset});
  add(kinds_.holds, {Trouble::kHold});
  add(kinds_.clients, {Trouble::kClient});
  add(kinds_.chained, {Trouble::kChained, Trouble::kChained, Trouble::kChained});
  add(kinds_.bridge, {Trouble::kBridge, Trouble::kBridge});
}

// ---- when

void ClusterTroubles::Plan(int64_t roll_ns, int64_t end_ns) {
  roll_ns_ = roll_ns;
  if (possible_.empty()) return;
  const int64_t now_ns = world_.MonotonicNs();
  const auto draw = [&] { return random_.Between(now_ns, end_ns); };
  std::vector<int64_t> clusters_ns;
  for (uint64_t n = random_.Below(4); n > 0; --n) {
    clusters_ns.push_back(random_.OneIn(2) ? roll_ns : draw());
  }
  for (int64_t n = random_.Between(1, 20); n > 0; --n) {
    int64_t at_ns = draw();
    if (!clusters_ns.empty() && !random_.OneIn(3)) {
      const int64_t spread_ns = kMs << random_.Below(12);
      at_ns = OneOf(random_, clusters_ns) + random_.Between(-spread_ns, spread_ns);
    }
    at_ns = std::clamp(at_ns, now_ns, end_ns);
    const Trouble trouble = random_.OneIn(3) ? Trouble::kAmbush : OneOf(random_, possible_);
    At(at_ns - now_ns, [this, trouble] { Begin(trouble, PickMember()); });
  }
}

void ClusterTroubles::At(int64_t ns, std::function<void()> trouble) {
  world_.At(world_.MonotonicNs() + ns, [this, trouble = std::move(trouble)] {
    if (!is_over_) trouble();
  });
}

void ClusterTroubles::CallOff() {
  is_over_ = true;
  ambushes_.clear();
  store_.CallOffTrouble();
  topics_.CallOffTrouble();
  world_.CallOffTrouble();
}

void ClusterTroubles::OnMoment(Moment moment, Process& member) {
  for (const Ambush& ambush : std::exchange(ambushes_, {})) {
    if (ambush.moment != moment) {
      ambushes_.push_back(ambush);
      continue;
    }
    const int64_t wait_ns = random_.OneIn(2) ? 0 : random_.Between(0, kMs << random_.Below(9));
    At(wait_ns, [this, &member, trouble = ambush.trouble] { Begin(trouble, member); });
  }
}

// ---- what

Process& ClusterTroubles::PickMember() {
  Process* const leader = leader_();
  if (leader != nullptr && random_.OneIn(2)) return *leader;
  return *OneOf(random_, processes_.members);
}

// From 1 ms to 8 s.
int64_t ClusterTroubles::DrawLength() { return random_.Between(kMs, kMs << random_.Below(14)); }

void ClusterTroubles::Begin(Trouble trouble, Process& member) {
  switch (trouble) {
    case Trouble::kDeath:
      ++deaths_;
      return world_.Kill(member);
    case Trouble::kDeathInAChange:
      ++deaths_;
      return world_.DieIn(
          member, {.steps = static_cast<int64_t>(random_.Below(1 + (100u >> random_.Below(7))))});
    case Trouble::kPowerCut:
    case Trouble::kPowerCutInAChange:
    case Trouble::kDiskLoss:
      return LoseSome(trouble, member);
    case Trouble::kFullDisk:
      return FillDisk(*member.machine());
    case Trouble::kStall:
      return world_.Stall(member, DrawLength());
    case Trouble::kPartition:
      return CutNetwork(member);
    case Trouble::kStore:
      return TroubleStore(member);
    case Trouble::kReset:
      return world_.connections().ResetOne(random_.Next());
    case Trouble::kHold:
      return world_.connections().HoldOne(random_.Next(), world_.MonotonicNs() + DrawLength());
    case Trouble::kClient:
      return TroubleClient();
    case Trouble::kChained:
      return TroubleChained();
    case Trouble::kBridge:
      return TroubleBridge();
    case Trouble::kAmbush: {
      const Moment moment = OneOf<Moment>(
          random_,
          {Moment::kStart, Moment::kElected, Moment::kServes, Moment::kDayBegun, Moment::kSet});
      ambushes_.push_back({moment, OneOf(random_, possible_)});
      if (moment == Moment::kDayBegun || random_.OneIn(2)) return;
      ++deaths_;
      return world_.Kill(member);  // So that the moment comes soon.
    }
  }
}

// The machine loses its power or its disk. What no other member has must not be lost: an operator
// would have to accept that.
void ClusterTroubles::LoseSome(Trouble trouble, Process& member) {
  if ((trouble == Trouble::kDiskLoss || !keeps_rows_) && !may_lose_(member)) return;
  const bool in_a_change = trouble == Trouble::kPowerCutInAChange && keeps_rows_;
  if (in_a_change) {
    return world_.DieIn(
        member, {.in = OneOf<Death::In>(random_, {Death::In::kChange, Death::In::kSync}),
                 .steps = static_cast<int64_t>(random_.Below(1 + (100u >> random_.Below(7)))),
                 .is_power_cut = true});
  }
  // A machine without power says nothing, not even that its connections have ended.
  if (random_.OneIn(2)) CutFromAll(member, true, world_.MonotonicNs() + DrawLength());
  if (trouble != Trouble::kDiskLoss) return world_.CutPower(*member.machine());
  ++disk_losses_;
  LogInfo("simulated loss of a disk member={}", member.name());
  world_.LoseDisk(*member.machine());
}

void ClusterTroubles::FillDisk(Host& machine) {
  machine.disk.set_full(true);
  At(DrawLength(), [&machine] { machine.disk.set_full(false); });
}

void ClusterTroubles::CutBothWays(const Process& one, const Process& other, int64_t until_ns) {
  world_.connections().Cut(one, other, until_ns);
  world_.connections().Cut(other, one, until_ns);
}

void ClusterTroubles::CutFromAll(const Process& member, bool with_clients, int64_t until_ns) {
  for (const Process* const other : processes_.members) CutBothWays(member, *other, until_ns);
  if (!with_clients) return;
  for (const Process* const client : processes_.clients) CutBothWays(member, *client, until_ns);
  store_.Cut(member, until_ns);
}

void ClusterTroubles::CutNetwork(Process& member) {
  const int64_t until_ns = world_.MonotonicNs() + DrawLength();
  const Process& other = *OneOf(random_, processes_.members);
  const uint64_t how = random_.Below(6);
  LogInfo("simulated cut of the network member={} other={} how={} ms={}", member.name(),
          other.name(), how, (until_ns - world_.MonotonicNs()) / kMs);
  switch (how) {
    case 0:
      return CutBothWays(member, other, until_ns);
    case 1:
      return world_.connections().Cut(member, other, until_ns);
    case 2:
      return CutFromAll(member, false, until_ns);
    case 3:
      return CutFromAll(member, true, until_ns);
    case 4:  // Nobody hears it, but it hears the others.
      for (const Process* const each : processes_.members) {
        world_.connections().Cut(member, *each, until_ns);
      }
      for (const Process* const each : processes_.clients) {
        world_.connections().Cut(member, *each, until_ns);
      }
      return;
    default:  // Its clients cannot reach it.
      for (const Process* const each : processes_.clients) CutBothWays(member, *each, until_ns);
      return;
  }
}

void ClusterTroubles::TroubleStore(Process& member) {
  const int64_t length_ns = DrawLength();
  switch (random_.Below(4)) {
    case 0:
      return store_.Cut(member, world_.MonotonicNs() + length_ns);
    case 1:
      return store_.Stop(world_.MonotonicNs() + length_ns);
    case 2:
      store_.set_lost_one_in(OneOf<uint64_t>(random_, {0, 2, 8}), OneOf<uint64_t>(random_, {2, 8}));
      return At(length_ns, [this] { store_.set_lost_one_in(0, 0); });
    default:
      store_.set_delay_ns_max(OneOf<int64_t>(random_, {50 * kMs, 300 * kMs, kSecond}));
      return At(length_ns, [this] { store_.set_delay_ns_max(2 * kMs); });
  }
}

void ClusterTroubles::TroubleClient() {
  Process& client = *OneOf(random_, processes_.clients);
  switch (random_.Below(4)) {
    case 0:
      ++deaths_;
      return world_.Kill(client);
    case 1:
      return world_.Stall(client, DrawLength());
    case 2:
      return world_.CutOff(client, DrawLength());
    default:
      return world_.connections().ResetAllOf(client);
  }
}

// Down for a while, often over the end of the day.
void ClusterTroubles::KeepDown(Process& process, int64_t length_ns) {
  ++deaths_;
  if (roll_ns_ > world_.MonotonicNs() && random_.OneIn(2)) {
    return world_.KeepDown(process, roll_ns_ - world_.MonotonicNs() + length_ns);
  }
  return world_.KeepDown(process, length_ns);
}

void ClusterTroubles::TroubleBridge() {
  Process& bridge = *processes_.bridge;
  const int64_t length_ns = DrawLength(), until_ns = world_.MonotonicNs() + length_ns;
  switch (random_.Below(8)) {
    case 0:
      ++deaths_;
      return world_.Kill(bridge);
    case 1:
      return world_.Stall(bridge, length_ns);
    case 2:
      return KeepDown(bridge, length_ns);
    case 3:
      return CutBothWays(bridge, *OneOf(random_, processes_.members), until_ns);
    case 4:
      return world_.connections().ResetAllOf(bridge);
    case 5:
      return topics_.Stop(until_ns);
    case 6:
      topics_.set_delay_ns_max(OneOf<int64_t>(random_, {50 * kMs, kSecond}));
      return At(length_ns, [this] { topics_.set_delay_ns_max(5 * kMs); });
    default:
      topics_.set_fails_one_in(OneOf<uint64_t>(random_, {0, 2, 8}),
                               OneOf<uint64_t>(random_, {2, 8}));
      return At(length_ns, [this] { topics_.set_fails_one_in(0, 0); });
  }
}

void ClusterTroubles::TroubleChained() {
  Process& chained = *processes_.chained;
  const int64_t length_ns = DrawLength(), until_ns = world_.MonotonicNs() + length_ns;
  const auto steps = static_cast<int64_t>(random_.Below(1 + (100u >> random_.Below(7))));
  const Process& member = *OneOf(random_, processes_.members);
  switch (random_.Below(11)) {
    case 0:
      ++deaths_;
      return world_.Kill(chained);
    case 1:
      ++deaths_;
      return world_.DieIn(chained, {.steps = steps});
    case 2:
      return world_.CutPower(*chained.machine());
    case 3:
      return world_.DieIn(chained,
                          {.in = OneOf<Death::In>(random_, {Death::In::kChange, Death::In::kSync}),
                           .steps = steps,
                           .is_power_cut = true});
    case 4:
      return FillDisk(*chained.machine());
    case 5:
      return world_.Stall(chained, length_ns);
    case 6:
      return KeepDown(chained, length_ns);
    case 7:
      return CutBothWays(chained, member, until_ns);
    case 8:
      for (const Process* const each : processes_.members) CutBothWays(chained, *each, until_ns);
      return;
    case 9:
      return world_.connections().Cut(member, chained, until_ns);
    default:
      return world_.connections().ResetAllOf(chained);
  }
}

}  // namespace tickstack::simulate
