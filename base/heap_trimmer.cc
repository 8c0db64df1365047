#include "base/heap_trimmer.h"

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/kept_blocks.h"
#include "base/owned_fd.h"

namespace tickstack {
namespace {

using std::chrono::steady_clock;

// A larger change in a period, up or down, means that a query builds or frees.
constexpr size_t kBusyBytes = size_t{64} << 20;
// A look at the heap takes a step for each free piece, so it gets at most a hundredth of a
// processor.
constexpr int kPausesPerCheck = 100;
// Kept at the end of the main arena: what KeepFreedMemory keeps and TouchHeap touched.
[[maybe_unused]] constexpr size_t kPadBytes = size_t{64} << 20;

// Returns the free bytes in all arenas, trimmed or not. Locks one arena after the other.
size_t FreeHeapBytes() {
#ifdef __GLIBC__
  return mallinfo2().fordblks;
#else
  return 0;
#endif
}

void Trim() {
  FreeKeptBlocks();
#ifdef __GLIBC__
  malloc_trim(kPadBytes);
#endif
}

}  // namespace

size_t ResidentBytes() {
  const OwnedFd file(::open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
  std::array<char, 128> text{};
  size_t total = 0, resident = 0;
  if (file.get() < 0 || ::read(file.get(), text.data(), text.size() - 1) <= 0) return 0;
  if (std::sscanf(text.data(), "%zu %zu", &total, &resident) != 2) return 0;
  return resident * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

HeapTrimmer::HeapTrimmer(const Options& options)
    : options_(options),
      low_bytes_(ResidentBytes()),
      last_bytes_(low_bytes_),
      last_heavy_blocks_(HeavyBlocks()),
      thread_([this] { Run(); }) {}

HeapTrimmer::~HeapTrimmer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void HeapTrimmer::Run() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, options_.period, [this] { return stopping_; })) {
    lock.unlock();
    Check();
    lock.lock();
  }
}

bool HeapTrimmer::IsBusy(size_t resident_bytes) {
  const uint64_t heavy_blocks = HeavyBlocks();
  const size_t change =
      std::max(resident_bytes, last_bytes_) - std::min(resident_bytes, last_bytes_);
  const bool busy = heavy_blocks != last_heavy_blocks_ || change > kBusyBytes;
  last_heavy_blocks_ = heavy_blocks;
  last_bytes_ = resident_bytes;
  return busy;
}

bool HeapTrimmer::IsAbove(size_t resident_bytes, steady_clock::time_point now) {
  if (resident_bytes >= low_bytes_ + options_.slack_bytes) return true;
  if (KeptBlockBytes() >= options_.slack_bytes) return true;
  // Memory that a query held at the last trim, and freed since, was resident then and still is.
  return now >= next_heap_check_ && HeapFree() >= free_after_trim_ + options_.slack_bytes;
}

size_t HeapTrimmer::HeapFree() {
  const steady_clock::time_point begun = steady_clock::now();
  const size_t bytes = FreeHeapBytes();
  const steady_clock::time_point ended = steady_clock::now();
  next_heap_check_ = ended + std::max<steady_clock::duration>(4 * options_.period,
                                                              kPausesPerCheck * (ended - begun));
  return bytes;
}

void HeapTrimmer::Check() {
  const steady_clock::time_point now = steady_clock::now();
  const size_t resident_bytes = ResidentBytes();
  const bool busy = IsBusy(resident_bytes);
  low_bytes_ = std::min(low_bytes_, resident_bytes);
  if (!is_above_) {
    is_above_ = IsAbove(resident_bytes, now);
    above_since_ = now;
  }
  if (!is_above_) return;
  if (busy) {
    if (now < above_since_ + options_.patience || now < next_busy_trim_) return;
    next_busy_trim_ = now + options_.pause_if_busy;
  }
  // The growth may be columns, which are not in the heap.
  if (HeapFree() + KeptBlockBytes() >= options_.slack_bytes) Trim();
  free_after_trim_ = HeapFree();
  low_bytes_ = last_bytes_ = ResidentBytes();
  last_heavy_blocks_ = HeavyBlocks();
  is_above_ = false;
}

}  // namespace tickstack
