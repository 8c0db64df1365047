#pragma once

// A tier with a reserve of DRAM: allocations that do not fit into the tier come from DRAM, up to a
// configured number of bytes. An allocation is refused only if neither has room for it.
//
//   tier      | block | block | block | full        volatile: filesystem or numa
//   overflow                           | block | block | ...     anonymous memory
//
// Each allocation tries the tier first. So memory that is freed there, for example when a day has
// been written to disk, is used again. Blocks in DRAM stay there until they are freed.
//
// A persistent tier has no overflow. After a restart, it restores a table from all of the table's
// chunks, and those in DRAM would be gone. The whole table would be lost although the tier kept
// most of it.

#include <atomic>
#include <memory>

#include "mem/arena_tier.h"
#include "mem/tier.h"

namespace tickstack::mem {

class OverflowTier final : public Tier {
 public:
  OverflowTier(std::unique_ptr<ArenaTier> tier, std::unique_ptr<ArenaTier> overflow);

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override;
  std::byte* TryAllocate(size_t bytes) override;
  void Free(std::byte* memory, size_t bytes) override;
  bool Has(const std::byte* memory) const override {
    return tier_->Has(memory) || overflow_->Has(memory);
  }
  // Returns the tier's figures, with its overflow's in the `overflow_` fields. `refused` counts the
  // allocations for which neither had room.
  TierStats Stats() const override;
  // Returns the sum for the tier and its overflow. All DRAM that the overflow ever used counts,
  // because it keeps freed pages.
  size_t ResidentBytes() const override;

 private:
  const std::unique_ptr<ArenaTier> tier_;
  const std::unique_ptr<ArenaTier> overflow_;
  std::atomic<uint64_t> refused_ = 0;
};

}  // namespace tickstack::mem
