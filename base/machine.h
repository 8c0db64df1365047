#pragma once

// What the machine is that a measurement was taken on.

#include <cstdint>
#include <string>
#include <string_view>

namespace tickstack {

struct Machine {
  std::string cpu;  // "AMD EPYC 7763 64-Core Processor"
  int cores = 0;    // That this process may use, hyperthreads counted.
  uint64_t memory_bytes = 0;
  uint64_t available_bytes = 0;  // Without swapping, now: free, or in caches that can go.
  int numa_nodes = 0;
  std::string kernel;  // "Linux 6.1.0"
};

// Reads /proc and /sys, some 0.1 ms; what they do not tell stays empty.
Machine ThisMachine();

// What follows `key` and a colon in a file of such lines, as /proc has them; "" if no line does.
std::string ProcField(const std::string& path, std::string_view key);

}  // namespace tickstack
