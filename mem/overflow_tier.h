#pragma once

// A tier with a reserve of DRAM: allocations that do not fit into the tier come from DRAM, up to a
// configured number of bytes. Only what neither has room for is refused.
//
//   tier      | block | block | block | full        volatile: filesystem or numa
//   overflow                           | block | block | ...     anonymous memory
//
// Each allocation tries the tier first, so that memory which is freed there, such as that of a day
// that was written, is used again. Blocks in DRAM stay there until they are freed.
//
// A persistent tier has no overflow. It restores a table after a restart from all of the table's
// chunks, and those in DRAM would be gone. So a table would have to begin anew although most of it
// was kept, at the time when memory is short.

#include <atomic>
#include <memory>

#include "mem/arena_tier.h"
#include "mem/tier.h"

namespace tickstack::mem {

class OverflowTier final : public Tier {
 public:
  OverflowTier(std::unique_ptr<ArenaTier> tier, std::unique_ptr<ArenaTier> overflow);

  absl::StatusOr<std::byte*> Allocate(size_t bytes) override;
  void Free(std::byte* memory, size_t bytes) override;
  // The figures of the tier, with those of its overflow. `refused` counts what neither had room
  // for.
  TierStats Stats() const override;
  // Of both. The overflow's part is all that was ever used of it.
  size_t ResidentBytes() const override;

 private:
  const std::unique_ptr<ArenaTier> tier_;
  const std::unique_ptr<ArenaTier> overflow_;
  std::atomic<uint64_t> refused_ = 0;
};

}  // namespace tickstack::mem
