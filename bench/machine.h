#pragma once

// What a bench says about the machine that it runs on, and what bounds every one of them: memory.

#include <cstddef>
#include <string>

namespace tickstack::bench {

// "Linux 6.1.0, 2 x Some CPU, 23.5 GiB", on one line.
std::string MachineText();

// GB/s of a copy from memory to memory by one thread: what every copy is bounded by. Best of three
// over 256 MiB.
double CopyGigabytesPerSecond();

// Touches memory and gives it back, so that what follows finds pages that the machine really has. A
// virtual machine's first touch of a page goes to its hypervisor: 2.5 to 5 ms per 2 MiB were
// measured, several times the cost of everything else that happens to the rows that fill it. Takes
// 0.7 of the free memory at most.
void WarmMemory(size_t bytes);

// Anonymous memory of this process that is in DRAM, and the most of any kind that ever was, from
// /proc/self/status.
size_t AnonymousBytes();
size_t ResidentBytesMax();

}  // namespace tickstack::bench
