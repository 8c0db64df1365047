#pragma once

// When a process is not ready: limits that the configuration sets, and checks that several
// processes share.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::serve {

// `[health]` of stack.toml.
struct HealthLimits {
  size_t disk_free_bytes = 0;  // Fewer free bytes are too few; 0: less than a tenth of the disk.
  int tier_used_percent = 80;  // A tier that is fuller than this is too full.
  int64_t behind_ns = 5'000'000'000;  // Longest time that rows may be late.
  int64_t feed_silent_ns = 0;         // Longest time that a feed may send nothing; 0: any time.
  bool operator==(const HealthLimits&) const = default;
};

// Why a process is not ready, a line for each reason.
using Reasons = std::vector<std::string>;

// A file system that a process writes to.
struct WatchedDisk {
  std::string name;  // What is on it, such as `log`.
  std::string path;  // A directory. If it does not exist yet: the nearest parent that does.
  bool must_have_space = true;  // False: only exported, because the process reserved its space.
};
struct DiskSpace {
  uint64_t free_bytes = 0;  // Bytes that a process without privileges can use.
  uint64_t total_bytes = 0;
};
// Errors: those of statvfs. May block on a file system that hangs.
absl::StatusOr<DiskSpace> SpaceOf(const std::string& path);

// Adds a reason if a disk has too little space, or cannot be asked.
void CheckDisk(const WatchedDisk& disk, const absl::StatusOr<DiskSpace>& space,
               const HealthLimits& limits, Reasons& reasons);

}  // namespace tickstack::serve
