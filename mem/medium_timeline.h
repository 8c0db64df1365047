#pragma once

// Until when a medium is busy: what makes all who use it share its bandwidth.
//
//   lane       |=== a ===|== b ==|        |==== c ====|            time ->
//                                ^ nobody wanted it: gone, not saved
//
// Who wants some of its time takes it behind what others have taken, from when he began at the
// earliest. So it never does more than it can, and never makes up for having been idle.
//
// Several processes share a medium through a file of its directory, which they map: a lane is one
// number there, stepped on by compare-and-swap. A process that is killed holds nothing; what it had
// taken passes by itself, in as long as it would have lasted. The last one that ends well removes
// the file; one that a killed process left is used again by the next.
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

  MediumTimeline() : lanes_(&own_) {}  // This process's alone.
  // Of all who open this file. kDataLoss: it is another one's; kResourceExhausted: it cannot be
  // made.
  static absl::StatusOr<std::unique_ptr<MediumTimeline>> Open(const std::string& path);
  ~MediumTimeline();
  MediumTimeline(const MediumTimeline&) = delete;
  MediumTimeline& operator=(const MediumTimeline&) = delete;

  // Takes `ns` of a lane and returns when they are over. Times are CLOCK_MONOTONIC, which is one
  // for all processes of a machine.
  int64_t Take(Lane lane, int64_t from_ns, double ns);

 private:
  // In a file: zeros to begin with. In sixteenths of a ns since a unit takes 2 ns and less; each in
  // a cache line of its own.
  struct Lanes {
    struct alignas(64) One {
      int64_t busy_until = 0;
    };
    std::array<One, 2> lane;
  };

  Lanes own_;
  Lanes* lanes_;
  OwnedFd file_;  // Locked, shared, for as long as we use it.
  std::string path_;
};

}  // namespace tickstack::mem
