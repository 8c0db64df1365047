#pragma once

// Large blocks of malloc's that were freed, kept for whoever next wants about as many bytes. Memory
// that the system hands out anew is cleared page by page while it is first written: 0.13 ms a MiB
// in huge pages, 0.6 without, which is more than most kernels take to fill it. What was just freed
// is in place already.
//
//   Give(block) -> | oldest ... newest | -> Take(bytes)        above the bound the oldest go back
//
// A block fits if it has the bytes and not a quarter more. Under AddressSanitizer kept blocks are
// poisoned, so that a use of one is still found.
//
// Threads: any thread may call any member; a mutex is held for a search of at most bytes_max /
// kSmallestBytes entries, about a microsecond, against the 30 us or more that a block's pages cost.

#include <cstddef>
#include <mutex>
#include <vector>

namespace tickstack {

class BlockCache {
 public:
  static constexpr size_t kSmallestBytes = size_t{256} << 10;

  struct Block {
    void* memory = nullptr;  // malloc's.
    size_t bytes = 0;
  };

  // Keeps blocks of `bytes_max` bytes together at most.
  explicit BlockCache(size_t bytes_max);
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // A kept block of `bytes` or up to a quarter more, of any content; memory is nullptr if there is
  // none.
  Block Take(size_t bytes);
  // Takes over a block; frees it, or older ones, where there is no room. A block below
  // kSmallestBytes is freed.
  void Give(Block block) noexcept;

  void Clear();          // Frees all that is kept.
  size_t bytes() const;  // Kept now.

 private:
  const size_t bytes_max_;
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;  // Oldest first. Guarded by mutex_.
  size_t bytes_ = 0;           // Of all of them. Guarded by mutex_.
};

}  // namespace tickstack
