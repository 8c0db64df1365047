#include "base/block_cache.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#if defined(__SANITIZE_ADDRESS__)
#define TS_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TS_POISON 1
#endif
#endif
#ifdef TS_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace tickstack {
namespace {

void Poison([[maybe_unused]] const BlockCache::Block& block) {
#ifdef TS_POISON
  __asan_poison_memory_region(block.memory, block.bytes);
#endif
}

void Unpoison([[maybe_unused]] const BlockCache::Block& block) {
#ifdef TS_POISON
  __asan_unpoison_memory_region(block.memory, block.bytes);
#endif
}

void Free(const BlockCache::Block& block) {
  Unpoison(block);
  std::free(block.memory);
}

}  // namespace

// Reserves room for as many blocks as there can be, so that keeping one allocates nothing.
BlockCache::BlockCache(size_t bytes_max) : bytes_max_(bytes_max) {
  blocks_.reserve(bytes_max / kSmallestBytes);
}

BlockCache::~BlockCache() { std::ranges::for_each(blocks_, Free); }

BlockCache::Block BlockCache::Take(size_t bytes) {
  if (bytes < kSmallestBytes) return {};
  const std::lock_guard lock(mutex_);
  // Tries the newest first: its pages are most likely in a cache.
  const auto found = std::find_if(blocks_.rbegin(), blocks_.rend(), [&](const Block& block) {
    return block.bytes >= bytes && block.bytes - bytes <= bytes / 4;
  });
  if (found == blocks_.rend()) return {};
  const Block block = *found;
  blocks_.erase(std::next(found).base());
  bytes_ -= block.bytes;
  Unpoison(block);
  return block;
}

void BlockCache::Give(Block block) noexcept {
  if (block.bytes < kSmallestBytes || block.bytes > bytes_max_) return std::free(block.memory);
  while (true) {
    Block oldest;
    {
      const std::lock_guard lock(mutex_);
      if (block.bytes <= bytes_max_ - bytes_) {
        Poison(block);
        blocks_.push_back(block);
        bytes_ += block.bytes;
        return;
      }
      oldest = blocks_.front();
      blocks_.erase(blocks_.begin());
      bytes_ -= oldest.bytes;
    }
    Free(oldest);  // Without the mutex, since the system takes time to free pages.
  }
}

// Frees without the mutex, since the system takes time to free pages. blocks_ keeps its capacity.
void BlockCache::Clear() {
  std::vector<Block> blocks;
  {
    const std::lock_guard lock(mutex_);
    blocks.assign(blocks_.begin(), blocks_.end());
    blocks_.clear();
    bytes_ = 0;
  }
  std::ranges::for_each(blocks, Free);
}

size_t BlockCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace tickstack
