// The DRAM tier.
//
// Memory comes from the kernel in slabs of 64 MiB, aligned to 2 MiB, with MADV_HUGEPAGE. A slab is
// 32 pages of 2 MiB, and its free pages are the bits of one word:
//
//   slab   | page 0 | page 1 | page 2 | ... | page 31 |      free: 1 bit per page
//   chunk of 4 MiB   = two pages in a row of one slab
//   block of 512 B   = a slice of a page that was cut into 4,096 of them
//
// Sizes below 2 MiB are powers of two from 256 B on, each with its own list of free blocks, cut
// from a page at a time. A page that was cut stays with its size: the blocks are index blocks, and
// tomorrow's index wants the same sizes. Larger than a slab: a mapping of its own.
//
// Slabs go back to the kernel when the tier goes, not before: what a day used the next day uses
// again, and it is warm. Pages are populated (MADV_POPULATE_WRITE) before they are handed out,
// because a first touch in the middle of an append costs 0.1 ms per 2 MiB at best and several ms
// where a hypervisor has to fetch the memory; with `populate_ahead_bytes` a thread does that ahead
// of need.

#include <sys/mman.h>

#include <bit>
#include <cerrno>
#include <condition_variable>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "mem/tier.h"

namespace tickstack::mem {
namespace {

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14; older kernels answer EINVAL.
#endif

constexpr size_t kPageBytes = Tier::kHugePageBytes;
constexpr size_t kPagesPerSlab = 32;
constexpr size_t kSlabBytes = kPageBytes * kPagesPerSlab;
constexpr size_t kSmallClasses = 13;  // 256 B, 512 B, ... 1 MiB.

size_t ClassOf(size_t rounded) {
  return static_cast<size_t>(std::countr_zero(rounded) - std::countr_zero(Tier::kSmallestBytes));
}

uint32_t PagesMask(size_t first, size_t pages) {
  const uint32_t run = pages == kPagesPerSlab ? ~uint32_t{0} : (uint32_t{1} << pages) - 1;
  return run << first;
}

// The first page of a run of `pages` free ones, or -1.
int FindRun(uint32_t free, size_t pages) {
  uint32_t starts = free;
  for (size_t i = 1; i < pages; ++i) starts &= free >> i;
  return starts == 0 ? -1 : std::countr_zero(starts);
}

absl::StatusOr<std::byte*> Map(size_t bytes) {
  // One page more, so that an aligned part is in it; the rest goes back at once.
  const size_t mapped = bytes + kPageBytes;
  void* const memory = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "mmap");
  auto* const begin = static_cast<std::byte*>(memory);
  const size_t misaligned = reinterpret_cast<uintptr_t>(begin) % kPageBytes;
  const size_t head = misaligned == 0 ? 0 : kPageBytes - misaligned;
  if (head > 0) munmap(begin, head);
  munmap(begin + head + bytes, mapped - head - bytes);
  madvise(begin + head, bytes, MADV_HUGEPAGE);  // Advice: without huge pages it is only slower.
  return begin + head;
}

void Populate(std::byte* memory, size_t bytes) {
  if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0) return;
  for (size_t at = 0; at < bytes; at += 4096) {
    *static_cast<volatile std::byte*>(memory + at) = std::byte{0};
  }
}

class DramTier final : public Tier {
 public:
  DramTier(std::string_view name, size_t capacity_bytes, size_t populate_ahead_bytes)
      : name_(name),
        capacity_bytes_(capacity_bytes),
        ahead_pages_((populate_ahead_bytes + kPageBytes - 1) / kPageBytes) {
    if (ahead_pages_ > 0) populator_ = std::thread([this] { PopulateAhead(); });
  }

  ~DramTier() override {
    if (populator_.joinable()) {
      {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
      }
      wake_.notify_one();
      populator_.join();
    }
    for (const auto& [base, slab] : slabs_) munmap(base, kSlabBytes);
    for (const auto& [base, bytes] : large_) munmap(base, bytes);
  }

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override {
    TS_CHECK(bytes > 0);
    const size_t rounded = RoundedBytes(bytes);
    Grant grant{};
    {
      const std::lock_guard lock(mutex_);
      // `rounded < bytes`: a size so large that rounding wrapped around.
      if (rounded < bytes || rounded > capacity_bytes_ - used_bytes_) {
        return Refuse(bytes, "its capacity is reached");
      }
      absl::StatusOr<Grant> taken = Take(rounded);
      if (!taken.ok()) return Refuse(bytes, Message(taken.status()));
      grant = *taken;
      used_bytes_ += rounded;
      if (used_bytes_ > high_water_bytes_) high_water_bytes_ = used_bytes_;
    }
    if (ahead_pages_ > 0) wake_.notify_one();
    // Outside the lock: a chunk's pages take as long as thousands of small allocations.
    if (!grant.populated) Populate(grant.memory, rounded);
    return grant.memory;
  }

  void Free(std::byte* memory, size_t bytes) override {
    const size_t rounded = RoundedBytes(bytes);
    const std::lock_guard lock(mutex_);
    TS_CHECK(used_bytes_ >= rounded);
    used_bytes_ -= rounded;
    if (rounded > kSlabBytes) {
      large_.erase(memory);
      munmap(memory, rounded);
    } else if (rounded >= kPageBytes) {
      const auto at = std::prev(slabs_.upper_bound(memory));
      const size_t first = static_cast<size_t>(memory - at->first) / kPageBytes;
      const uint32_t pages = PagesMask(first, rounded / kPageBytes);
      TS_CHECK(first < kPagesPerSlab && (at->second.free & pages) == 0);
      at->second.free |= pages;
    } else {
      small_[ClassOf(rounded)].freed.push_back(memory);
    }
  }

  TierStats Stats() const override {
    const std::lock_guard lock(mutex_);
    return {name_, "dram", capacity_bytes_, used_bytes_, high_water_bytes_, refused_};
  }

 private:
  struct Grant {
    std::byte* memory;
    bool populated;
  };
  // One bit per page.
  struct Slab {
    uint32_t free = ~uint32_t{0};
    uint32_t populated = 0;
  };
  struct SmallClass {
    std::vector<std::byte*> freed;
    std::byte* cut = nullptr;  // The rest of the page that blocks are cut from.
    std::byte* cut_end = nullptr;
  };

  absl::Status Refuse(size_t bytes, std::string_view why) {
    ++refused_;
    return ResourceExhausted("tier {}: {} bytes refused: {}: {} of {} bytes used", name_, bytes,
                             why, used_bytes_, capacity_bytes_);
  }

  absl::StatusOr<Grant> Take(size_t rounded) {
    if (rounded > kSlabBytes) {
      TS_ASSIGN_OR_RETURN(std::byte * memory, Map(rounded));
      large_.emplace(memory, rounded);
      return Grant{memory, false};
    }
    if (rounded >= kPageBytes) return TakePages(rounded / kPageBytes);
    return TakeSmall(rounded);
  }

  absl::StatusOr<Grant> TakeSmall(size_t rounded) {
    SmallClass& small = small_[ClassOf(rounded)];
    if (!small.freed.empty()) {
      std::byte* const memory = small.freed.back();
      small.freed.pop_back();
      return Grant{memory, true};
    }
    if (small.cut == small.cut_end) {
      TS_ASSIGN_OR_RETURN(const Grant page, TakePages(1));
      // Under the lock, once in 2 MiB of small blocks.
      if (!page.populated) Populate(page.memory, kPageBytes);
      small.cut = page.memory;
      small.cut_end = page.memory + kPageBytes;
    }
    std::byte* const memory = small.cut;
    small.cut += rounded;
    return Grant{memory, true};
  }

  absl::StatusOr<Grant> TakePages(size_t pages) {
    for (auto& [base, slab] : slabs_) {
      // Populated pages first, which is the lowest ones anyway; then any.
      int first = FindRun(slab.free & slab.populated, pages);
      if (first < 0) first = FindRun(slab.free, pages);
      if (first >= 0) return TakeFrom(base, slab, static_cast<size_t>(first), pages);
    }
    TS_ASSIGN_OR_RETURN(std::byte * base, Map(kSlabBytes));
    return TakeFrom(base, slabs_[base], 0, pages);
  }

  Grant TakeFrom(std::byte* base, Slab& slab, size_t first, size_t pages) {
    const uint32_t mask = PagesMask(first, pages);
    const Grant grant{base + first * kPageBytes, (slab.populated & mask) == mask};
    slab.free &= ~mask;
    slab.populated |= mask;  // The taker populates what is not.
    return grant;
  }

  size_t PopulatedFreePages() const {
    int pages = 0;
    for (const auto& [base, slab] : slabs_) pages += std::popcount(slab.free & slab.populated);
    return static_cast<size_t>(pages);
  }

  // The populator's duty cycle: take an untouched page out of the free ones, touch it without the
  // lock, put it back.
  void PopulateAhead() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [this] { return stopping_ || WantsPages(); });
      if (stopping_) return;
      const auto [base, page] = UntouchedPage();
      if (base == nullptr) {
        exhausted_ = true;  // The kernel has no more; allocations will say so themselves.
        continue;
      }
      const uint32_t mask = PagesMask(page, 1);
      Slab& slab = slabs_[base];
      slab.free &= ~mask;
      lock.unlock();
      Populate(base + page * kPageBytes, kPageBytes);
      lock.lock();
      slab.populated |= mask;
      slab.free |= mask;
    }
  }

  bool WantsPages() const {
    if (exhausted_) return false;
    const size_t ahead = PopulatedFreePages();
    return ahead < ahead_pages_ && ahead < (capacity_bytes_ - used_bytes_) / kPageBytes;
  }

  std::pair<std::byte*, size_t> UntouchedPage() {
    for (const auto& [base, slab] : slabs_) {
      const uint32_t untouched = slab.free & ~slab.populated;
      if (untouched != 0) return {base, static_cast<size_t>(std::countr_zero(untouched))};
    }
    absl::StatusOr<std::byte*> base = Map(kSlabBytes);
    if (!base.ok()) return {nullptr, 0};
    slabs_.emplace(*base, Slab{});
    return {*base, 0};
  }

  const std::string name_;
  const size_t capacity_bytes_;
  const size_t ahead_pages_;

  mutable std::mutex mutex_;  // Guards everything below.
  std::map<std::byte*, Slab> slabs_;
  std::map<std::byte*, size_t> large_;
  SmallClass small_[kSmallClasses];
  size_t used_bytes_ = 0;
  size_t high_water_bytes_ = 0;
  uint64_t refused_ = 0;
  bool stopping_ = false;
  bool exhausted_ = false;
  std::condition_variable wake_;
  std::thread populator_;
};

}  // namespace

std::unique_ptr<Tier> MakeDramTier(std::string_view name, size_t capacity_bytes,
                                   size_t populate_ahead_bytes) {
  return std::make_unique<DramTier>(name, capacity_bytes, populate_ahead_bytes);
}

}  // namespace tickstack::mem
