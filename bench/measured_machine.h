#pragma once

// Describes the machine that a bench runs on, and measures the bandwidth of its memory.

#include <cstddef>
#include <string>

namespace tickstack::bench {

// Returns one line, such as "Linux 6.1.0, 2 x Some CPU, 23.5 GiB".
std::string MachineText();

// Returns the rate in GB/s at which one thread copies memory, which bounds every copy. Best of
// three over 256 MiB.
double CopyGigabytesPerSecond();

// Touches memory and frees it, so that later allocations get pages that the machine really has. On
// a virtual machine the first touch of a page goes to the hypervisor: 2.5 to 5 ms per 2 MiB were
// measured, several times the cost of all other work on the rows that fill it. Touches at most 0.7
// of the free memory.
void WarmMemory(size_t bytes);

// Return this process's anonymous memory in DRAM, and its peak of resident memory of any kind, from
// /proc/self/status.
size_t AnonymousBytes();
size_t ResidentBytesMax();

}  // namespace tickstack::bench
