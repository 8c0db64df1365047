#pragma once

// What goes wrong in a life, and when: kinds of trouble that are drawn for the life, and their
// times, which are drawn for each day.
//
// Many troubles come in clusters: around the end of the day, and where a silence of the feeds
// begins or ends. Others lie in wait: they come at, or soon after, the next moment of a kind at
// which much depends on what is durable and on what was told to whom.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulate/damage.h"
#include "tests/simulate/stack.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

// A life consists of the time around the end of each day, from kBefore before the end to kAfter
// after it.
constexpr int64_t kBefore = 30 * kNsPerSecond;
constexpr int64_t kAfter = 15 * kNsPerSecond;
// There is no trouble within this time before and after the end of a calm day.
constexpr int64_t kCalmAround = 12 * kNsPerSecond;
constexpr int64_t kStallNsMax = 3 * kNsPerSecond;

class Troubles {
 public:
  // The kinds of trouble. A life has some of them.
  struct Kinds {
    bool deaths, power_cuts, resets, stalls, stops, clocks, full_disks, write_errors, sync_errors,
        read_errors, bad_disks, flipped_bits, cut_offs, holds;
  };
  // Moments at which trouble may lie in wait.
  enum class Moment : uint8_t {
    kStart,     // The tickerplant has started.
    kDayBegun,  // It has begun a day.
    kFeedTold,  // A feed was told how many of its rows are logged, after it had connected.
    kQuiet,     // No file has changed for a while.
    kError,     // A call to the disk failed with EIO.
  };
  struct Processes {
    Process* tickerplant = nullptr;
    Process* engine = nullptr;
    Process* rdb = nullptr;
    std::vector<Process*> feeds;
    std::vector<Process*> subscribers;
  };

  // Draws the kinds. `before` is called before a process may die, while it still has its state.
  // The world and the processes must outlive this. `subscribers` and `feeds` are not empty.
  Troubles(World& world, const Processes& processes, int days, std::function<void()> before);

  const Kinds& kinds() const { return kinds_; }
  int64_t deaths() const { return deaths_; }
  bool has_flipped_bit() const { return !flipped_bits_.empty(); }

  // Schedules the trouble of a day that ends at `roll_ns`, by the wall clock; none around a calm
  // end. `silences_ns`: when feeds fall silent or continue.
  void PlanDay(int64_t roll_ns, bool calm, const std::vector<int64_t>& silences_ns);
  // Calls off the troubles that have begun and had no effect yet, and mends flipped bits. Troubles
  // that PlanDay scheduled for later still begin.
  void CallOff();

  // Begins what lies in wait for this moment. Call it for each one but kQuiet.
  void OnMoment(Moment moment);

 private:
  enum class Trouble : uint8_t {
    kDeath,
    kDeathInAChange,  // During a change to a file.
    kPowerCut,
    kPowerCutInAChange,
    kAmbush,  // Lies in wait for a moment.
    kReset,
    kResetOfASubscriber,
    kHold,
    kStall,
    kStop,
    kSetClock,
    kFullDisk,
    kWriteError,
    kSyncError,
    kReadError,
    kBadDisk,
    kFlippedBit,
    kCutOff,
  };
  // What lies in wait: it happens to the tickerplant or its machine.
  enum class Blow : uint8_t {
    kDeath,
    kDeathInAChange,
    kPowerCut,
    kPowerCutInAChange,
    kBadDisk,
  };
  struct Ambush {
    Moment moment;
    Blow blow;
  };

  int64_t DrawTime();
  Death DrawDeath(bool is_power_cut);
  void Begin(Trouble trouble);
  void LieInWait();
  void WaitForQuiet(int64_t quiet_ns);
  Blow DrawBlow();
  void Strike(Blow blow);
  void EndTickerplant();
  // Does the next part of a trouble in `ns`, unless the trouble has been called off by then.
  void GoOn(int64_t ns, std::function<void()> trouble);
  void SetClock();
  void FillDisk();
  void FailCall(Disk::Call call);
  void SpoilDisk();
  void FlipBit();

  World& world_;
  Random& random_;
  const Processes processes_;
  const std::function<void()> before_;
  Kinds kinds_{};
  std::vector<int64_t> clusters_ns_;  // Times of the clusters, relative to the end of the day.
  std::vector<Ambush> ambushes_;
  std::vector<std::unique_ptr<FlippedBit>> flipped_bits_;
  int64_t deaths_ = 0;
  int64_t times_called_off_ = 0;
};

}  // namespace tickstack::simulate
