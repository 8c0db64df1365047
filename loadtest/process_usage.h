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

}  // namespace tickstack::loadtest
