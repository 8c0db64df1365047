#pragma once

// Keeps freed large blocks of malloc for later requests of about the same size. The system clears
// new memory page by page while it is first written: 0.13 ms per MiB in huge pages, 0.6 ms without,
// which is more than most kernels need to fill it. Memory that was just freed still has its pages,
// so reusing it avoids that cost.
//
//   Give(block) -> | oldest ... newest | -> Take(bytes)      over the limit, the oldest are freed
//
// A block fits if it has at least the requested bytes and at most a quarter more. Under
// AddressSanitizer, kept blocks are poisoned, so that using one is still detected.
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
    void* memory = nullptr;  // Allocated by malloc.
    size_t bytes = 0;
  };

  // Keeps blocks of at most `bytes_max` bytes in total.
  explicit BlockCache(size_t bytes_max);
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Returns a kept block of `bytes` to 1.25 times `bytes`, of any content; its memory is nullptr if
  // there is none.
  Block Take(size_t bytes);
  // Takes ownership of a block. Frees older blocks to make room, or the block itself if it is
  // larger than the limit or smaller than kSmallestBytes.
  void Give(Block block) noexcept;

  void Clear();          // Frees all kept blocks.
  size_t bytes() const;  // Bytes of all kept blocks.

 private:
  const size_t bytes_max_;
  mutable std::mutex mutex_;
  std::vector<Block> blocks_;  // Oldest first. Guarded by mutex_.
  size_t bytes_ = 0;           // Sum over blocks_. Guarded by mutex_.
};

}  // namespace tickstack
