#pragma once

// Describes the machine, for reports of measurements, and reads or raises its limits for this
// process.

#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack {

struct Machine {
  std::string cpu;  // "AMD EPYC 7763 64-Core Processor"
  int cores = 0;    // Cores that this process may use, including hyperthreads.
  uint64_t memory_bytes = 0;
  // Memory that is available now without swapping: free, or in caches that can be dropped.
  uint64_t available_bytes = 0;
  int numa_nodes = 0;
  std::string kernel;  // "Linux 6.1.0"
};

// Reads /proc and /sys; values that they lack stay empty. Cost: about 0.1 ms.
Machine ThisMachine();

// Raises the soft limit of file descriptors to the hard one, and returns it. The soft limit is
// 1,024 by tradition for the sake of select(2), which is not used here. Children inherit the limit.
uint64_t RaiseDescriptorLimit();

// Identifies the current boot of the machine by the kernel's text, which is different after each
// boot. "" if the kernel does not provide it.
std::string BootId();

// Identifies the mount of the file system that has `path`, for as long as its page cache lives: the
// text is another one once the file system was unmounted and mounted again, and the same through
// bind mounts and in containers. "" if the kernel does not tell, as of tmpfs and overlayfs.
std::string MountId(const std::string& path);

// Reads a file of lines `KEY: VALUE`, such as /proc/meminfo, and returns the value of `key`; "" if
// there is none.
std::string ProcField(const std::string& path, std::string_view key);

}  // namespace tickstack
