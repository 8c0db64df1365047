#pragma once

// Time that moves only when a test says so, for the loops of one thread. Usually part of a
// Simulation (wire/simulation.h). Threads: one.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "base/time.h"
#include "wire/event_loop.h"

namespace tickstack::wire {

class SimulatedTime final : public TimeSource {
 public:
  explicit SimulatedTime(int64_t now_ns) : clock_(now_ns) {}

  const Clock& clock() const override { return clock_; }
  // Somebody sets the wall clock ahead by `ns`, or back. Alarms do not follow it.
  void SetClock(int64_t ns) { clock_.Set(clock_.NowNs() + ns); }
  std::unique_ptr<Alarm> MakeAlarm(std::function<void()> function) override;

  // Runs the loop's ready handlers one by one. When there are none, moves the clock to the next
  // alarm and calls it. `done()` is asked before each of these steps; returns true as soon as it
  // holds. False if no alarm is due within `at_most`: the clock then moves by `at_most`.
  bool RunUntil(EventLoop& loop, const std::function<bool()>& done,
                std::chrono::nanoseconds at_most);

 private:
  class PendingAlarm;
  using Queue = std::multimap<int64_t, PendingAlarm*>;  // By due time; then in order of Set.

  ManualClock clock_;
  Queue alarms_;
};

}  // namespace tickstack::wire
