#include "mem/overflow_tier.h"

#include <utility>

#include "base/status.h"

namespace tickstack::mem {

OverflowTier::OverflowTier(std::unique_ptr<ArenaTier> tier, std::unique_ptr<ArenaTier> overflow)
    : tier_(std::move(tier)), overflow_(std::move(overflow)) {
  streaming_from_bytes_ = tier_->streaming_from_bytes();
}

absl::StatusOr<std::byte*> OverflowTier::Allocate(size_t bytes) {
  absl::StatusOr<std::byte*> memory = tier_->Allocate(bytes);
  if (memory.ok()) return memory;
  absl::StatusOr<std::byte*> in_dram = overflow_->Allocate(bytes);
  if (in_dram.ok()) return in_dram;
  refused_.fetch_add(1, std::memory_order_relaxed);
  return ResourceExhausted("{}; {}", Message(memory.status()), Message(in_dram.status()));
}

std::byte* OverflowTier::TryAllocate(size_t bytes) {
  std::byte* const memory = tier_->TryAllocate(bytes);
  return memory == nullptr ? overflow_->TryAllocate(bytes) : memory;
}

void OverflowTier::Free(std::byte* memory, size_t bytes) {
  (overflow_->Has(memory) ? *overflow_ : *tier_).Free(memory, bytes);
}

TierStats OverflowTier::Stats() const {
  TierStats stats = tier_->Stats();
  const TierStats overflow = overflow_->Stats();
  stats.refused = refused_.load(std::memory_order_relaxed);
  stats.overflow_capacity_bytes = overflow.capacity_bytes;
  stats.overflow_used_bytes = overflow.used_bytes;
  stats.overflow_high_water_bytes = overflow.high_water_bytes;
  return stats;
}

size_t OverflowTier::ResidentBytes() const {
  return tier_->ResidentBytes() + overflow_->ResidentBytes();
}

}  // namespace tickstack::mem
