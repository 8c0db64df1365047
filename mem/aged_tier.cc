#include "mem/aged_tier.h"

#include "base/check.h"

namespace tickstack::mem {

AgedTier::AgedTier(Tier* recent, Tier* older) : recent_(recent), older_(older) {
  TS_CHECK(recent != older);
  TS_CHECK(recent->persistent() == nullptr && older->persistent() == nullptr);
  TS_CHECK(recent->medium() == nullptr && older->medium() == nullptr);
  // Rows are written into the recent tier.
  streaming_from_bytes_ = recent->streaming_from_bytes();
}

absl::StatusOr<std::byte*> AgedTier::Allocate(size_t bytes) {
  if (std::byte* const memory = recent_->TryAllocate(bytes); memory != nullptr) return memory;
  return older_->Allocate(bytes);
}

std::byte* AgedTier::TryAllocate(size_t bytes) {
  std::byte* const memory = recent_->TryAllocate(bytes);
  return memory == nullptr ? older_->TryAllocate(bytes) : memory;
}

}  // namespace tickstack::mem
