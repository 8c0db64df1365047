#pragma once

// A tier: where bytes live. Columns take their chunks from one and never ask what is behind it:
// DRAM, a file system, persistent memory, a far NUMA node.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace tickstack::mem {

struct TierStats {
  std::string name;
  std::string kind;         // "dram"
  size_t capacity_bytes;    // SIZE_MAX: bounded by the machine only.
  size_t used_bytes;        // Handed out and not given back, each allocation at its rounded size.
  size_t high_water_bytes;  // The largest used_bytes so far.
  uint64_t refused;         // Allocations that were refused because the tier was full.
};

// Threads: any thread may call any member; allocation takes a lock, since it happens once per
// chunk.
class Tier {
 public:
  virtual ~Tier() = default;

  // Memory of `bytes` > 0 bytes, of any content, aligned to `kAlignment` (2 MiB from 2 MiB on),
  // that stays where it is until Free. kResourceExhausted, counted, when the tier's capacity does
  // not hold it; never a signal.
  virtual absl::StatusOr<std::byte*> Allocate(size_t bytes) = 0;
  // Gives back what Allocate(bytes) returned.
  virtual void Free(std::byte* memory, size_t bytes) = 0;
  virtual TierStats Stats() const = 0;

  // What an allocation of `bytes` counts for in used_bytes: the next power of two from 256 B up to
  // 1 MiB, and a multiple of 2 MiB above.
  static size_t RoundedBytes(size_t bytes);

  static constexpr size_t kAlignment = 64;
  static constexpr size_t kHugePageBytes = size_t{2} << 20;
  static constexpr size_t kSmallestBytes = 256;
};

// Anonymous memory with transparent huge pages where the kernel grants them. `capacity_bytes`
// bounds the sum of the rounded sizes. With `populate_ahead_bytes`, a thread of the tier's own
// keeps that much memory touched ahead of need, so that whoever asks for a chunk never waits for
// the kernel to find and clear its pages; without it, Allocate touches them.
std::unique_ptr<Tier> MakeDramTier(std::string_view name, size_t capacity_bytes = SIZE_MAX,
                                   size_t populate_ahead_bytes = 0);

}  // namespace tickstack::mem
