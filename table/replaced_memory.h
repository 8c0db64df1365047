#pragma once

// Memory that readers may still read although a copy of it has taken its place. It is freed when
// the last reader that could have seen it is done.
//
// A reader takes a lease before it loads a pointer, and keeps it for as long as it uses the memory.
// Leases are numbered by replacement:
//
//   lease 0 | replacement: memory A | lease 1 | replacement: memory B | lease 2
//
// Memory A may be read under lease 0, memory B under leases 0 and 1. So memory that replacement n
// replaced is freed when no lease up to n is held.
//
// Ordering: Replace stores the new pointers before it takes the mutex, and makes the next lease
// under it. A reader that gets the next lease took the mutex later, and therefore loads the new
// pointers; a reader with an earlier lease may load either, and keeps the old memory.
//
// Threads: any thread may take and drop leases. Replace is called by one thread at a time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mem/tier.h"

namespace tickstack {

class ReplacedMemory {
 public:
  struct Piece {
    mem::Tier* tier;  // Must outlive all leases.
    std::byte* memory;
    size_t bytes;  // As given to Tier::Allocate.
  };

  ReplacedMemory();
  // Frees what no lease keeps; the last lease frees the rest.
  ~ReplacedMemory();
  ReplacedMemory(const ReplacedMemory&) = delete;
  ReplacedMemory& operator=(const ReplacedMemory&) = delete;

  // Returns the current lease. Cost: a mutex and a reference count.
  std::shared_ptr<const void> Take() const;
  // Frees the pieces once no lease is held that was taken before this call. New pointers must have
  // been stored already.
  void Replace(std::vector<Piece> pieces);
  // Returns the bytes of this tier that wait for their leases, as rounded by the tier.
  size_t WaitingBytes(const mem::Tier* tier) const;

 private:
  struct Shared;
  struct Lease;

  const std::shared_ptr<Shared> shared_;
  std::shared_ptr<const Lease> current_;  // Guarded by the mutex of *shared_.
};

}  // namespace tickstack
