#pragma once

// Notices that the wall clock was set. The rates of the wall clock and of the monotonic one are
// adjusted together, so their difference changes only when somebody sets the wall clock, or when
// the machine was suspended.

#include <cstdint>
#include <cstdlib>

#include "base/time.h"

namespace tickstack {

// Threads: one owner.
class ClockSteps {
 public:
  // Smaller steps are left to callers, as if they were delays.
  static constexpr int64_t kStepNsMin = 500'000'000;

  explicit ClockSteps(const Clock& clock) : clock_(clock), offset_ns_(Offset()) {}

  // Returns by how much the clock was set ahead, or back if negative, since the last step that was
  // returned or since construction; 0: by less than kStepNsMin.
  int64_t Take() {
    const int64_t offset_ns = Offset();
    const int64_t step_ns = offset_ns - offset_ns_;
    if (std::abs(step_ns) < kStepNsMin) return 0;
    offset_ns_ = offset_ns;
    return step_ns;
  }

 private:
  // Reads the monotonic clock before and after the other one: a pause between is no step.
  int64_t Offset() const {
    const int64_t before_ns = clock_.MonotonicNs();
    const int64_t now_ns = clock_.NowNs();
    const int64_t after_ns = clock_.MonotonicNs();
    return now_ns - (before_ns + (after_ns - before_ns) / 2);
  }

  const Clock& clock_;
  int64_t offset_ns_;
};

}  // namespace tickstack
