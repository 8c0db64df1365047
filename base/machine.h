#pragma once

// What the machine is that a measurement was taken on, and what it lets this process have.

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

// Lets this process open as many files and sockets as it may: raises the soft limit of descriptors,
// 1,024 by tradition for the sake of select(2), which nothing here calls, to the hard one. Children
// inherit it. Returns the limit.
uint64_t RaiseDescriptorLimit();

// Which start of the machine this is, as the kernel names it: another text after each. "" where the
// kernel does not tell.
std::string BootId();

// What follows `key` and a colon in a file of such lines, as /proc has them; "" if no line does.
std::string ProcField(const std::string& path, std::string_view key);

}  // namespace tickstack
