#pragma once

// The time until which a medium is busy, so that all its users share its bandwidth.
//
//   lane       |=== a ===|== b ==|        |==== c ====|            time ->
//                                ^ idle time is lost, not saved
//
// An access reserves time after all earlier reservations, and not before its own begin. The medium
// therefore never exceeds its bandwidth, and does not catch up on idle time.
//
// Several processes share a medium through a file in the medium's directory, which each of them
// maps. A lane is one number in it, advanced by compare-and-swap, so a killed process holds no
// lock, and its reservations expire in their own time. The last process removes the file when it
// ends. A file that a killed process left is used again.
//
// Threads: any may Take, in any of the processes.

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace tickstack::mem {

class MediumTimeline {
 public:
  enum class Lane : uint8_t { kRead, kWrite };

  MediumTimeline() : lanes_(&own_) {}  // A timeline of this process alone.
  // Opens a timeline that is shared with all processes that open this file. kDataLoss if the file
  // is not a timeline, kResourceExhausted if it cannot be created.
  static absl::StatusOr<std::unique_ptr<MediumTimeline>> Open(const std::string& path);
  ~MediumTimeline();
  MediumTimeline(const MediumTimeline&) = delete;
  MediumTimeline& operator=(const MediumTimeline&) = delete;

  // Reserves `ns` of a lane from `from_ns` on, and returns the end of the reservation. Times are
  // CLOCK_MONOTONIC, which all processes of a machine share.
  int64_t Take(Lane lane, int64_t from_ns, double ns);

 private:
  // The content of the file, which begins as zeros. Times are in 1/16 ns, because a unit may take
  // less than 2 ns. Each lane has a cache line of its own.
  struct Lanes {
    struct alignas(64) One {
      int64_t busy_until = 0;
    };
    std::array<One, 2> lane;
  };

  Lanes own_;
  Lanes* lanes_;
  OwnedFd file_;  // Holds a shared lock on the file while the timeline exists.
  std::string path_;
};

}  // namespace tickstack::mem
