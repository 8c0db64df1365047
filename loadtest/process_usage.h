#pragma once

// What processes take of the machine, from /proc.

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace tickstack::loadtest {

struct ProcessUsage {
  uint64_t rss_bytes = 0;           // Resident, pages of mapped files included.
  double cpu_s = 0;                 // Of all threads, in user and system, since it began; as below.
  uint64_t voluntary_switches = 0;  // It waited for something.
  uint64_t involuntary_switches = 0;  // Another one wanted the core.
  uint64_t read_bytes = 0;            // From storage, and
  uint64_t written_bytes = 0;         // to it: what only the page cache saw is not in there.

  // What was used since `before`; memory as it is.
  ProcessUsage Since(const ProcessUsage& before) const;
};

// nullopt: there is no such process. Cost: some 20 us a thread.
std::optional<ProcessUsage> UsageOf(pid_t pid);

// What a process has of the machine's memory where pages that several have are divided among them
// (the kernel's PSS): that of all processes together adds up to what they take.
struct ProcessShare {
  uint64_t bytes = 0;  // The sum of these:
  uint64_t anonymous_bytes = 0;
  uint64_t file_bytes = 0;    // Of the page cache, for it has them mapped: its tiers on disks.
  uint64_t shared_bytes = 0;  // tmpfs and shared memory.
};

// nullopt: there is no such process, or it is somebody else's. Cost: the kernel looks at every page
// that is mapped, 0.1 s a GB in pages of 4 KiB, and who maps or unmaps memory there waits: not for
// while something is measured.
std::optional<ProcessShare> ShareOf(pid_t pid);

}  // namespace tickstack::loadtest
