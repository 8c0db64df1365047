// Memory is touched before it is handed out, because a first touch in the middle of an append costs
// 0.1 ms per 2 MiB at best, and several ms if a hypervisor must fetch the memory. With
// touch_ahead_bytes, a thread does that before the memory is needed; with touch_first_bytes, before
// any rows come. The thread has a slightly higher nice value, so it gets a third of the time of a
// thread that wants the same core: chunks are needed when rows come, and threads of tiers that
// touched whole chunks at full priority would take the cores from the threads that ingest. The nice
// value is not higher because the kernel holds the process's map while it touches: on a busy core,
// other threads that map memory wait for it, 0.02 s at nice value 0, 0.06 at 5, 0.6 at 19. For the
// same reason it maps memory ahead of itself, and a TouchPause stops it. Pages that were used stay
// touched: the next day reuses them.

#include "mem/arena_tier.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/check.h"
#include "base/status.h"
#include "base/thread_priority.h"
#include "base/time.h"
#include "mem/copy.h"
#include "mem/touch_pause.h"

namespace tickstack::mem {
namespace {

// Returns whether copying past the caches is at least a fifth faster than through them, into memory
// that is touched and not cached: batches of 16 KiB, like a tickerplant's, over four pages.
bool CopiesFasterStreaming(std::byte* memory, size_t bytes) {
  constexpr size_t kBatchBytes = size_t{16} << 10;
  const auto source = std::make_unique<std::byte[]>(kBatchBytes);
  const auto time_ns = [&](auto copy) {
    int64_t best = INT64_MAX;
    for (int repeat = 0; repeat < 3; ++repeat) {
      const int64_t begin_ns = MonotonicNs();
      for (size_t at = 0; at < bytes; at += kBatchBytes) copy(memory + at);
      best = std::min(best, MonotonicNs() - begin_ns);
    }
    return best;
  };
  std::memset(source.get(), 1, kBatchBytes);
  const int64_t through =
      time_ns([&](std::byte* to) { std::memcpy(to, source.get(), kBatchBytes); });
  const int64_t past =
      time_ns([&](std::byte* to) { CopyStreaming(to, source.get(), kBatchBytes); });
  DrainStreaming();
  return past * 5 < through * 4;
}

constexpr int kToucherNice = 5;
// Bytes that the toucher maps ahead of its current page: more than a mapping step.
constexpr size_t kReadyBytes = 64 * Tier::kHugePageBytes;

size_t PagesOf(size_t bytes, size_t page_bytes) {
  return bytes / page_bytes + (bytes % page_bytes != 0 ? 1 : 0);
}

// A persistent tier's file has a word for each huge page.
size_t PageBytesOf(const TierOptions& options, const Arena& arena) {
  if (options.kind == TierKind::kPersistent) return PageAllocator::kPageBytes;
  return PageAllocator::PageBytesFor(arena.pages() * Tier::kHugePageBytes);
}

}  // namespace

ArenaTier::ArenaTier(const TierOptions& options, std::unique_ptr<Arena> arena,
                     std::unique_ptr<Medium> medium)
    : options_(options),
      arena_(std::move(arena)),
      simulated_(std::move(medium)),
      page_bytes_(PageBytesOf(options_, *arena_)),
      ahead_pages_(PagesOf(options.touch_ahead_bytes, page_bytes_)),
      first_pages_(
          PagesOf(std::min(options.touch_first_bytes, options.capacity_bytes), page_bytes_)),
      allocator_(arena_->pages() * (kHugePageBytes / page_bytes_), page_bytes_) {
  medium_ = simulated_.get();
  const size_t per_huge_page = kHugePageBytes / page_bytes_;
  for (const Arena::Region& region : arena_->regions()) {
    if (region.first_page == 0) continue;
    for (size_t i = 1; i <= per_huge_page; ++i) {
      allocator_.Bar(region.first_page * per_huge_page - i);
    }
  }
}

ArenaTier::~ArenaTier() { StopTouching(); }

void ArenaTier::StopTouching() {
  if (!toucher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  toucher_.join();
}

void ArenaTier::Start() {
  // Smaller writes go to the caches in any case, where a query for the newest row finds them.
  constexpr size_t kStreamedBytes = 4096;
  if (options_.streaming == Streaming::kOn ||
      (options_.streaming == Streaming::kAuto && StreamingPays())) {
    streaming_from_bytes_ = kStreamedBytes;
  }
  StartTouching();
}

void ArenaTier::StartTouching() {
  stopping_ = false;  // No thread runs.
  if (ahead_pages_ > 0 || first_pages_ > 0) toucher_ = std::thread([this] { TouchAhead(); });
}

bool ArenaTier::StreamingPays() {
  constexpr size_t kProbeBytes = 4 * Tier::kHugePageBytes;
  if (!Stats().dax && options_.kind != TierKind::kNuma) return false;
  const std::optional<PageAllocator::Grant> probe = allocator_.Take(kProbeBytes);
  if (!probe) return false;
  const size_t end_page = probe->offset / Tier::kHugePageBytes + 4;
  std::byte* const memory = arena_->At(probe->offset);
  const bool touched = arena_->Ready(end_page).ok() && arena_->Touch(memory, kProbeBytes).ok();
  const bool pays = touched && CopiesFasterStreaming(memory, kProbeBytes);
  touched ? allocator_.Give(probe->offset, kProbeBytes)
          : allocator_.GiveUntouched(probe->offset, kProbeBytes);
  return pays;
}

absl::Status ArenaTier::FullError(size_t bytes, std::string_view why) const {
  const size_t capacity = options_.capacity_bytes;
  return ResourceExhausted("tier {}: {} bytes refused: {}: {} of {} bytes used", options_.name,
                           bytes, why, used_bytes_, capacity);
}

absl::StatusOr<std::byte*> ArenaTier::Allocate(size_t bytes) {
  absl::StatusOr<std::byte*> memory = Take(bytes);
  if (!memory.ok()) {
    const std::lock_guard lock(mutex_);
    ++refused_;
  }
  return memory;
}

std::byte* ArenaTier::TryAllocate(size_t bytes) {
  {
    // A full tier is asked often, so this answers without an error's text.
    const std::lock_guard lock(mutex_);
    if (RoundedBytes(bytes) > options_.capacity_bytes - used_bytes_) return nullptr;
  }
  return Take(bytes).value_or(nullptr);
}

absl::StatusOr<std::byte*> ArenaTier::Take(size_t bytes) {
  TS_CHECK(bytes > 0);
  const size_t rounded = RoundedBytes(bytes);
  std::byte* memory = nullptr;
  size_t offset = 0;
  bool touched = false, wakes = false;
  {
    std::unique_lock lock(mutex_);
    // `rounded < bytes`: the size is so large that rounding wrapped around.
    if (rounded < bytes || rounded > options_.capacity_bytes - used_bytes_) {
      return FullError(bytes, "its capacity is reached");
    }
    std::optional<PageAllocator::Grant> grant = allocator_.Take(rounded);
    // If it seems full, the last page may be with the toucher.
    while (!grant && touching_) {
      touched_.wait(lock);
      grant = allocator_.Take(rounded);
    }
    if (!grant) return FullError(bytes, "no run of pages is free for it");
    if (const absl::Status ready = arena_->Ready(
            (grant->offset + rounded + Tier::kHugePageBytes - 1) / Tier::kHugePageBytes);
        !ready.ok()) {
      grant->touched ? allocator_.Give(grant->offset, rounded)
                     : allocator_.GiveUntouched(grant->offset, rounded);
      return FullError(bytes, Message(ready));
    }
    offset = grant->offset;
    touched = grant->touched;
    memory = arena_->At(offset);
    used_bytes_ += rounded;
    if (used_bytes_ > high_water_bytes_) high_water_bytes_ = used_bytes_;
    // Thousands of small blocks per second must not each wake a thread that has nothing to do.
    wakes = !touching_ && WantsPages();
    // The first block of a page touches all of it, under the lock: later blocks rely on that.
    if (!touched && rounded < page_bytes_) {
      touched = true;
      const absl::Status done =
          arena_->Touch(arena_->At(offset / page_bytes_ * page_bytes_), page_bytes_);
      if (!done.ok()) {
        FreeUntouchedPages(offset, rounded);
        return FullError(bytes, Message(done));
      }
    }
  }
  if (wakes) wake_.notify_one();
  // Outside the lock: touching a chunk's pages takes as long as thousands of small allocations.
  if (!touched) {
    if (const absl::Status done = arena_->Touch(memory, rounded); !done.ok()) {
      const std::lock_guard lock(mutex_);
      FreeUntouchedPages(offset, rounded);
      return FullError(bytes, Message(done));
    }
  }
  return memory;
}

void ArenaTier::FreePages(size_t offset, size_t rounded) {
  TS_CHECK(used_bytes_ >= rounded);
  used_bytes_ -= rounded;
  allocator_.Give(offset, rounded);
}

void ArenaTier::FreeUntouchedPages(size_t offset, size_t rounded) {
  TS_CHECK(used_bytes_ >= rounded);
  used_bytes_ -= rounded;
  allocator_.GiveUntouched(offset, rounded);
}

void ArenaTier::Free(std::byte* memory, size_t bytes) {
  const std::lock_guard lock(mutex_);
  FreePages(arena_->OffsetOf(memory), RoundedBytes(bytes));
}

TierStats ArenaTier::Stats() const {
  TierStats stats;
  stats.name = options_.name;
  stats.kind = NameOf(options_.kind);
  stats.capacity_bytes = options_.capacity_bytes;
  stats.streaming = streaming_from_bytes_ != SIZE_MAX;
  if (simulated_ != nullptr) {
    stats.model = simulated_->model().name;
    stats.figures = TextOf(simulated_->model());
  }
  arena_->Describe(stats);
  const std::lock_guard lock(mutex_);
  stats.used_bytes = used_bytes_;
  stats.high_water_bytes = high_water_bytes_;
  stats.refused = refused_;
  return stats;
}

size_t ArenaTier::ResidentBytes() const {
  size_t touched = 0;
  {
    const std::lock_guard lock(mutex_);
    touched = allocator_.touched_pages() * page_bytes_;
  }
  return arena_->ResidentBytes(touched);
}

// The toucher's duty cycle: reserves a free untouched page, touches it without the lock, and
// returns it.
void ArenaTier::TouchAhead() {
  SetThreadNice(kToucherNice);
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || WantsPages(); });
    if (stopping_) return;
    lock.unlock();
    const TouchPermit permit;
    lock.lock();
    if (stopping_) return;
    if (!WantsPages()) continue;
    const std::optional<size_t> page = allocator_.TakeUntouched();
    if (!page) {
      exhausted_ = true;  // All pages are touched.
      continue;
    }
    const size_t offset = *page * page_bytes_;
    absl::Status done = arena_->Ready(
        std::min((offset + page_bytes_ + kReadyBytes) / kHugePageBytes, arena_->pages()));
    if (done.ok()) {
      std::byte* const memory = arena_->At(offset);
      touching_ = true;
      lock.unlock();
      done = arena_->Touch(memory, page_bytes_);
      lock.lock();
      touching_ = false;
    }
    // A page that could not be touched is handed out untouched, and that allocation reports why.
    if (done.ok()) {
      allocator_.ReturnTouched(*page);
    } else {
      allocator_.Give(offset, page_bytes_);
      exhausted_ = true;
    }
    touched_.notify_all();
  }
}

// Returns whether more free pages are to be touched.
bool ArenaTier::WantsPages() const {
  if (exhausted_) return false;
  if (allocator_.touched_pages() < first_pages_) return true;
  const size_t ahead = allocator_.touched_free_pages();
  return ahead < ahead_pages_ && ahead < (options_.capacity_bytes - used_bytes_) / page_bytes_;
}

}  // namespace tickstack::mem
