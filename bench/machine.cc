#include "bench/machine.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

#include "base/time.h"

namespace tickstack::bench {
namespace {

// What follows `key` and a colon in a file of such lines; "" if no line does.
std::string FieldOf(const char* path, std::string_view key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    const size_t text = line.find_first_not_of(" \t", colon + 1);
    return text == std::string::npos ? "" : line.substr(text);
  }
  return "";
}

size_t KilobytesOf(std::string_view key) {
  return std::strtoull(FieldOf("/proc/self/status", key).c_str(), nullptr, 10) * 1024;
}

double PagesToBytes(int name) {
  return static_cast<double>(::sysconf(name)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

}  // namespace

std::string MachineText() {
  utsname system{};
  ::uname(&system);
  return fmt::format("{} {}, {} x {}, {:.1f} GiB", system.sysname, system.release,
                     std::thread::hardware_concurrency(), FieldOf("/proc/cpuinfo", "model name"),
                     PagesToBytes(_SC_PHYS_PAGES) / (1 << 30));
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
