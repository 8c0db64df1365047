#pragma once

// Decides whether a process is ready: limits from the configuration, and checks that several
// processes use.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack::serve {

// `[health]` of stack.toml.
struct HealthLimits {
  size_t disk_free_bytes = 0;         // Bytes that must be free on a disk; 0: a tenth of the disk.
  int tier_used_percent = 80;         // Highest allowed use of a tier.
  int64_t behind_ns = 5'000'000'000;  // Longest time that rows may be late.
  int64_t feed_silent_ns = 0;         // Longest time that a feed may send nothing; 0: no limit.
  bool operator==(const HealthLimits&) const = default;
};

// The reasons for which a process is not ready, a line each. Empty: it is ready.
using Reasons = std::vector<std::string>;

// A file system that a process writes to.
struct WatchedDisk {
  std::string name;  // What the process writes there, such as `log`.
  std::string path;  // A directory, which need not exist yet.
  // False if CheckDisk ignores the disk and only its metrics are exported.
  bool must_have_space = true;
};
struct DiskSpace {
  uint64_t free_bytes = 0;  // Bytes that a process without privileges can use.
  uint64_t total_bytes = 0;
};
// Returns the space at `path`, or at its nearest parent that exists. Errors: those of statvfs.
// Blocks if the file system does not respond.
absl::StatusOr<DiskSpace> SpaceOf(const std::string& path);

// Adds a reason if a disk has too little space, or if `space` is an error.
void CheckDisk(const WatchedDisk& disk, const absl::StatusOr<DiskSpace>& space,
               const HealthLimits& limits, Reasons& reasons);

}  // namespace tickstack::serve
