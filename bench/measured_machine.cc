#include "bench/measured_machine.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "base/machine.h"
#include "base/time.h"

namespace tickstack::bench {
namespace {

size_t KilobytesOf(std::string_view key) {
  return std::strtoull(ProcField("/proc/self/status", key).c_str(), nullptr, 10) * 1024;
}

double PagesToBytes(int name) {
  return static_cast<double>(::sysconf(name)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string MachineText() {
  const Machine machine = ThisMachine();
  return fmt::format("{}, {} x {}, {:.1f} GiB", machine.kernel, machine.cores, machine.cpu,
                     static_cast<double>(machine.memory_bytes) / (1 << 30));
}

double CopyGigabytesPerSecond() {
  const size_t bytes = size_t{256} << 20;
  std::vector<char> from(bytes, 'a'), to(bytes, 'b');
  double best = 0;
  for (int i = 0; i < 3; ++i) {
    const int64_t start = MonotonicNs();
    std::memcpy(to.data(), from.data(), bytes);
    best = std::max(best, static_cast<double>(bytes) / static_cast<double>(MonotonicNs() - start));
  }
  return best;
}

void WarmMemory(size_t bytes) {
  bytes = std::min(bytes, static_cast<size_t>(0.7 * PagesToBytes(_SC_AVPHYS_PAGES)));
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return;
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  for (size_t at = 0; at < bytes; at += 4096) static_cast<char*>(memory)[at] = 1;
  ::munmap(memory, bytes);
}

size_t AnonymousBytes() { return KilobytesOf("RssAnon"); }
size_t ResidentBytesMax() { return KilobytesOf("VmHWM"); }

}  // namespace tickstack::bench
