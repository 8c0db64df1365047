#pragma once

// Describes the machine that a bench runs on, and measures the bandwidth of its memory.

#include <cstddef>
#include <string>

namespace tickstack::bench {

// Returns one line, such as "Linux 6.1.0, 2 x Some CPU, 23.5 GiB".
std::string MachineText();

// Returns the rate in GB/s at which one thread copies 256 MiB, the best of three measurements. No
// measured copy can be faster.
double CopyGigabytesPerSecond();

// Touches `bytes` of memory, or 70 % of the free memory if that is less, and frees it. A hypervisor
// gives a page to its virtual machine when it is first touched, which took 2.5 to 5 ms per 2 MiB:
// several times the cost of all other work on the rows that fill it. After this call, measured code
// gets pages that have been touched.
void WarmMemory(size_t bytes);

// Returns the resident anonymous memory of this process, from /proc/self/status.
size_t AnonymousBytes();
// Returns the peak of this process's resident memory of any kind, from /proc/self/status.
size_t ResidentBytesMax();

}  // namespace tickstack::bench
