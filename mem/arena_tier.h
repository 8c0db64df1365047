#pragma once

// The common part of all tiers: allocation, pre-touching and statistics over an arena.

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "mem/arena.h"
#include "mem/medium.h"
#include "mem/page_allocator.h"
#include "mem/tier.h"

namespace tickstack::mem {

class ArenaTier : public Tier {
 public:
  // `medium` is nullptr unless the tier is simulated.
  ArenaTier(const TierOptions& options, std::unique_ptr<Arena> arena,
            std::unique_ptr<Medium> medium = nullptr);
  ~ArenaTier() override;
  // Decides on streaming and starts pre-touching. Called once, before other threads use the tier.
  void Start();

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override;
  std::byte* TryAllocate(size_t bytes) override;
  void Free(std::byte* memory, size_t bytes) override;
  TierStats Stats() const override;
  size_t ResidentBytes() const override;
  bool Has(const std::byte* memory) const override { return arena_->Has(memory); }

 protected:
  // Called with mutex_ held.
  absl::Status FullError(size_t bytes, std::string_view why) const;
  void FreePages(size_t offset, size_t rounded);           // Called with mutex_ held.
  void FreeUntouchedPages(size_t offset, size_t rounded);  // Likewise, after a failed touch.
  void StartTouching();
  void StopTouching();

  const TierOptions options_;
  const std::unique_ptr<Arena> arena_;
  const std::unique_ptr<Medium> simulated_;  // nullptr: real memory.
  const size_t page_bytes_;                  // The allocator's page size.
  const size_t ahead_pages_, first_pages_;

  mutable std::mutex mutex_;  // Guards everything below.
  PageAllocator allocator_;
  size_t used_bytes_ = 0;
  size_t high_water_bytes_ = 0;
  uint64_t refused_ = 0;

 private:
  absl::StatusOr<std::byte*> Take(size_t bytes);
  bool StreamingPays();
  void TouchAhead();
  bool WantsPages() const;

  bool stopping_ = false;
  bool exhausted_ = false;
  bool touching_ = false;  // True while toucher_ has reserved a page.
  std::condition_variable wake_;
  std::condition_variable touched_;  // Signalled when toucher_ returns a page.
  std::thread toucher_;
};

}  // namespace tickstack::mem
