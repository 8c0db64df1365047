#pragma once

// What goes wrong in the life of a cluster, and when. As in trouble.h, a life has some kinds of
// trouble, many of which come in clusters or lie in wait for a moment at which much depends on who
// leads and which members have which rows.

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/simulate/cluster.h"
#include "tests/simulate/topics.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

class ClusterTroubles {
 public:
  // The kinds of trouble. A life has some of them.
  struct Kinds {
    bool deaths, power_cuts, disk_losses, full_disks, stalls, partitions, store, resets, holds,
        clients, chained, bridge;
  };
  // Moments at which trouble may lie in wait for the member that they are about.
  enum class Moment : uint8_t {
    kStart,     // It has started.
    kElected,   // It leads, but serves no clients yet.
    kServes,    // It serves clients.
    kDayBegun,  // The leader has begun a day.
    kSet,       // The in-sync set in the store has changed; about the leader.
  };
  struct Processes {
    std::vector<Process*> members;
    std::vector<Process*> clients;  // The chained tickerplant and the bridge among them.
    Process* chained = nullptr;
    Process* bridge = nullptr;
  };

  // `leader` returns the member that leads, or nullptr. `may_lose` returns whether a member may
  // lose rows with its disk or in a power cut: others have them. `keeps_rows`: a power cut takes
  // no rows. Everything must outlive this.
  ClusterTroubles(World& world, Store& store, Topics& topics, Processes processes, bool keeps_rows,
                  std::function<Process*()> leader, std::function<bool(Process&)> may_lose);

  const Kinds& kinds() const { return kinds_; }
  int64_t deaths() const { return deaths_; }
  int64_t disk_losses() const { return disk_losses_; }

  // Schedules trouble from now on until `end_ns` (monotonic), some of it around `roll_ns`.
  void Plan(int64_t roll_ns, int64_t end_ns);
  // Ends all trouble, also what has been scheduled.
  void CallOff();
  // Begins what lies in wait for this moment.
  void OnMoment(Moment moment, Process& member);

 private:
  enum class Trouble : uint8_t {
    kDeath,
    kDeathInAChange,
    kPowerCut,
    kPowerCutInAChange,
    kDiskLoss,
    kFullDisk,
    kStall,
    kPartition,
    kStore,
    kReset,
    kHold,
    kClient,
    kChained,
    kBridge,
    kAmbush,
  };
  struct Ambush {
    Moment moment;
    Trouble trouble;
  };

  Process& PickMember();
  int64_t DrawLength();
  void At(int64_t ns, std::function<void()> trouble);
  void Begin(Trouble trouble, Process& member);
  void LoseSome(Trouble trouble, Process& member);
  void FillDisk(Host& machine);
  void CutNetwork(Process& member);
  void CutBothWays(const Process& one, const Process& other, int64_t until_ns);
  void CutFromAll(const Process& member, bool with_clients, int64_t until_ns);
  void TroubleStore(Process& member);
  void TroubleClient();
  void TroubleChained();
  void TroubleBridge();
  void KeepDown(Process& process, int64_t length_ns);

  World& world_;
  Random& random_;
  Store& store_;
  Topics& topics_;
  const Processes processes_;
  const bool keeps_rows_;
  const std::function<Process*()> leader_;
  const std::function<bool(Process&)> may_lose_;
  Kinds kinds_{};
  std::vector<Trouble> possible_;
  std::vector<Ambush> ambushes_;
  int64_t roll_ns_ = 0;  // The end of the day (monotonic).
  int64_t deaths_ = 0, disk_losses_ = 0;
  bool is_over_ = false;
};

}  // namespace tickstack::simulate
