// Moves the wall clock of programs that load this library by LD_PRELOAD, so that days pass in
// seconds. The file that MOVED_CLOCK names has 8 bytes: the number of ns by which the clock is
// ahead, which may change at any time. Monotonic clocks are not moved. Without the variable, no
// clock is.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace tickstack::faults {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

// Returns where the number of ns is; nullptr: the clock is not moved.
const std::atomic<int64_t>* MapNsAhead() {
  const char* const path = std::getenv("MOVED_CLOCK");
  if (path == nullptr) return nullptr;
  const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) std::abort();
  void* const mapped = ::mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) std::abort();
  ::close(fd);
  return static_cast<const std::atomic<int64_t>*>(mapped);
}

}  // namespace
}  // namespace tickstack::faults

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using namespace tickstack::faults;  // Of this library, which defines one function.
  static const auto real =
      reinterpret_cast<decltype(clock_gettime)*>(dlsym(RTLD_NEXT, "clock_gettime"));
  static const std::atomic<int64_t>* const ns_ahead = MapNsAhead();
  const int result = real(clock, time);
  const bool is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (result != 0 || !is_wall || ns_ahead == nullptr) return result;
  const int64_t ns = int64_t{time->tv_sec} * kNsPerSecond + time->tv_nsec +
                     ns_ahead->load(std::memory_order_relaxed);
  time->tv_sec = static_cast<time_t>(ns / kNsPerSecond);
  time->tv_nsec = static_cast<long>(ns % kNsPerSecond);
  return 0;
}
