#pragma once

// What processes use of the machine, read from /proc.

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace tickstack::loadtest {

struct ProcessUsage {
  uint64_t rss_bytes = 0;  // Resident memory, including pages of mapped files.
  double cpu_s = 0;        // User and system time of all threads since the process started.
  uint64_t voluntary_switches = 0;    // The process waited for something.
  uint64_t involuntary_switches = 0;  // Another process got the core.
  uint64_t read_bytes = 0;            // Read from storage; excludes hits in the page cache.
  uint64_t written_bytes = 0;  // Written to storage; excludes what is only in the page cache.

  // Returns what was used since `before`. Memory is the current value, not a difference.
  ProcessUsage Since(const ProcessUsage& before) const;
};

// Returns nullopt if there is no such process. Cost: some 20 us per thread.
std::optional<ProcessUsage> UsageOf(pid_t pid);

// A process's share of the machine's memory. A page that several processes map is divided among
// them (the kernel's PSS), so the shares of all processes add up to what they occupy.
struct ProcessShare {
  uint64_t bytes = 0;  // The sum of the following fields.
  uint64_t anonymous_bytes = 0;
  uint64_t file_bytes = 0;    // Mapped pages of the page cache, such as tiers on disks.
  uint64_t shared_bytes = 0;  // Pages of tmpfs and shared memory.
};

// Returns nullopt if there is no such process, or if it belongs to another user. Cost: the kernel
// visits every mapped page, 0.1 s per GB in pages of 4 KiB, and the process cannot map or unmap
// memory meanwhile. Do not call it while something is measured.
std::optional<ProcessShare> ShareOf(pid_t pid);

}  // namespace tickstack::loadtest
