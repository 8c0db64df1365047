#pragma once

#include "base/scratch.h"
#include "mem/tier.h"

namespace tickstack::mem {

// Uses a tier as the scratch memory of queries. Each block has at least kLargeBlockBytes, and takes
// Tier::RoundedBytes of it from the tier. Freed blocks return to the tier, and their pages stay
// touched. The tier must outlive this object, which must outlive all blocks.
class TierScratch final : public ScratchMemory {
 public:
  explicit TierScratch(Tier* tier);

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override { return tier_->Allocate(bytes); }
  void Free(std::byte* memory, size_t bytes) override { tier_->Free(memory, bytes); }
  const std::string& name() const override { return name_; }
  size_t capacity_bytes() const override { return capacity_bytes_; }

 private:
  Tier* const tier_;
  const std::string name_;
  const size_t capacity_bytes_;
};

}  // namespace tickstack::mem
