#include "wire/simulated_time.h"

#include <optional>
#include <utility>

namespace tickstack::wire {

class SimulatedTime::PendingAlarm final : public Alarm {
 public:
  PendingAlarm(Queue& alarms, std::function<void()> function)
      : alarms_(alarms), function_(std::move(function)) {}
  ~PendingAlarm() override { Cancel(); }

  void Set(int64_t due_ns) override {
    Cancel();
    place_ = alarms_.emplace(due_ns, this);
  }
  void Cancel() override {
    if (place_) alarms_.erase(*std::exchange(place_, std::nullopt));
  }
  void Call() {
    Cancel();
    const std::function<void()> function = function_;  // It may destroy this alarm.
    function();
  }

 private:
  Queue& alarms_;
  const std::function<void()> function_;
  std::optional<Queue::iterator> place_;  // nullopt: not set.
};

std::unique_ptr<Alarm> SimulatedTime::MakeAlarm(std::function<void()> function) {
  return std::make_unique<PendingAlarm>(alarms_, std::move(function));
}

bool SimulatedTime::RunUntil(EventLoop& loop, const std::function<bool()>& done,
                             std::chrono::nanoseconds at_most) {
  const int64_t end_ns = clock_.MonotonicNs() + at_most.count();
  const auto move_to = [this](int64_t ns) {
    if (ns > clock_.MonotonicNs()) clock_.Advance(ns - clock_.MonotonicNs());
  };
  while (!done()) {
    if (loop.RunReady()) continue;
    if (alarms_.empty() || alarms_.begin()->first > end_ns) {
      move_to(end_ns);
      return done();
    }
    move_to(alarms_.begin()->first);
    alarms_.begin()->second->Call();
  }
  return true;
}

}  // namespace tickstack::wire
