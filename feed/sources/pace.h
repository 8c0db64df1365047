#pragma once

// Computes when a simulated update is due: at a rate, or at rates that follow one another and
// repeat.
//
//   phases  0.9 s at 40,000/s, 0.1 s at 160,000/s       a burst every second
//   update  0 ... 35,999 | 36,000 ... 51,999 | 52,000 ...
//   due     0 ...  0.9 s |   0.9 s ... 1.0 s | 1.0 s ...
//
// All of it uses integers, so that the due time of an update and the number of updates due by a
// time agree.

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::feed {

struct PacePhase {
  double seconds = 0;
  double rate = 0;  // Updates per second; 0: a pause.
};

// Threads: const after construction.
class Pace {
 public:
  // One constant rate, 0.001 to 10^15 updates per second.
  explicit Pace(double rate);
  // kInvalidArgument with the valid range: 1 to 10,000 phases of 1 ms to 10^6 s, rates from 0 to
  // 10^9, and at least one update in total.
  static absl::StatusOr<Pace> Create(const std::vector<PacePhase>& phases);

  // Returns when update `number` is due, in ns after update 0. Cost: two multiplications; with
  // several phases also a division and a search.
  int64_t DueNs(int64_t number) const {
    return phases_.size() == 1 ? Scaled(number, phases_[0].step) : DueInPhasesNs(number);
  }
  // Returns how many updates are due by `ns`: those with DueNs(n) <= ns.
  int64_t DueBy(int64_t ns) const;

 private:
  // Phase i begins begin_ns after the start of the cycle, with update `first` of the cycle.
  struct Phase {
    int64_t begin_ns;
    int64_t first;
    int64_t updates;
    unsigned __int128 step;  // ns between updates, in units of 2^-32 ns.
  };
  Pace() = default;
  static int64_t Scaled(int64_t number, unsigned __int128 step) {
    return static_cast<int64_t>((static_cast<__int128>(number) * static_cast<__int128>(step)) >>
                                32);
  }
  int64_t DueInPhasesNs(int64_t number) const;

  std::vector<Phase> phases_;
  int64_t cycle_ns_ = INT64_MAX;
  int64_t cycle_updates_ = INT64_MAX;
};

}  // namespace tickstack::feed
