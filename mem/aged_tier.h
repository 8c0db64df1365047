#pragma once

// A tier of recent rows, followed by a tier of older ones. Both are ordinary tiers, which others
// may use as well.
//
//   recent  | chunk 7 | chunk 8 | chunk 9 |          new memory
//   older   | chunk 0 | chunk 1 | ... | chunk 6 |    chunks that Column moved, because of their age
//
// New memory comes from the recent tier. If that is full, it comes from the older tier, so rows are
// refused only if both are full. This class moves nothing: Table::MoveToOlder does, and a column
// finds the older tier by Tier::aged.

#include <cstddef>

#include "mem/tier.h"

namespace tickstack::mem {

// Threads: any thread may call any member.
class AgedTier final : public Tier {
 public:
  // The tiers must outlive this one, and be neither persistent nor simulated.
  AgedTier(Tier* recent, Tier* older);

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override;
  std::byte* TryAllocate(size_t bytes) override;
  void Free(std::byte* memory, size_t bytes) override { TierOf(memory).Free(memory, bytes); }
  bool Has(const std::byte* memory) const override {
    return recent_->Has(memory) || older_->Has(memory);
  }
  // Both return the figures of the recent tier: a table's chunks are sized for that one.
  TierStats Stats() const override { return recent_->Stats(); }
  size_t ResidentBytes() const override { return recent_->ResidentBytes(); }
  AgedTier* aged() override { return this; }

  Tier& recent() const { return *recent_; }
  Tier& older() const { return *older_; }
  // Returns the one of the two tiers that this memory was allocated from.
  Tier& TierOf(const std::byte* memory) const { return older_->Has(memory) ? *older_ : *recent_; }

 private:
  Tier* const recent_;
  Tier* const older_;
};

}  // namespace tickstack::mem
