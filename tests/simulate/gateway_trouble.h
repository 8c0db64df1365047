#pragma once

// What goes wrong in a life with a gateway, and when: much of it around the end of a day, and while
// a day moves from the rdbs to the hdb.

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tests/simulate/gateway_state.h"
#include "tests/simulate/world.h"

namespace tickstack::simulate {

class GatewayTroubles {
 public:
  // Moments at which trouble may lie in wait.
  enum class Moment : uint8_t {
    kStart,     // A process has started.
    kCaughtUp,  // An rdb has read its log.
    kDayBegun,  // The tickerplant has begun a day.
    kDayKept,   // The first rdb has got the end of a day, which it writes next.
    kWritten,   // The partition is there.
    kLoaded,    // The hdb has the day.
    kDropped,   // The first rdb has dropped it.
  };
  using Processes = GatewayState::Processes;

  // Draws the kinds. `keeps_rows`: a power cut takes no published row.
  GatewayTroubles(World& world, const Processes& processes, GatewayState& state, bool keeps_rows);

  // Schedules trouble until `end_ns`; the day ends at `roll_ns` (monotonic).
  void Plan(int64_t roll_ns, int64_t end_ns);
  void CallOff();  // Ends all trouble; none begins any more.
  void OnMoment(Moment moment);
  int64_t deaths() const { return deaths_; }

 private:
  enum class Trouble : uint8_t {
    kDeath,
    kDeathInAChange,
    kDown,  // A process is down for a while.
    kPowerCut,
    kPowerCutInAChange,
    kStall,
    kCutOff,
    kPartition,
    kReset,
    kResetOfOne,
    kHold,
    kAmbush,
  };

  void At(int64_t ns, std::function<void()> trouble);
  void Begin(Trouble trouble);
  void CutNetwork();
  Process& PickProcess();
  int64_t DrawLength();
  int64_t DrawSteps();

  World& world_;
  Random& random_;
  const Processes processes_;
  GatewayState& state_;
  std::vector<Process*> all_;  // Those that trouble hits.
  std::vector<Trouble> possible_;
  std::vector<std::pair<Moment, Trouble>> ambushes_;
  bool is_over_ = false;
  int64_t deaths_ = 0;
};

}  // namespace tickstack::simulate
