#include "base/scratch.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/block_cache.h"
#include "base/kept_blocks.h"

namespace tickstack {
namespace internal {
namespace {

// Only a counter: it orders no other data.
std::atomic<uint64_t> heavy_blocks{0};

void CountBlock(size_t bytes) {
  if (bytes >= kHeavyBlockBytes) heavy_blocks.fetch_add(1, std::memory_order_relaxed);
}

// The header before the bytes of a large block.
struct BlockHeader {
  ScratchMemory* owner;
  size_t bytes;  // Bytes of the whole allocation, with the header.
};
static_assert(sizeof(BlockHeader) <= kBlockHeaderBytes);

thread_local ScratchMemory* current_memory = nullptr;

BlockHeader& HeaderOf(std::byte* block) {
  return *reinterpret_cast<BlockHeader*>(block - kBlockHeaderBytes);
}

std::byte* Begin(void* allocation, ScratchMemory* owner, size_t bytes) {
  if (allocation == nullptr) throw std::bad_alloc();
  new (allocation) BlockHeader{owner, bytes};
  return static_cast<std::byte*>(allocation) + kBlockHeaderBytes;
}

// Requests huge pages for the whole ones in a malloc block. Filling new memory costs 0.6 ms per MiB
// in small pages, and 0.13 ms in huge pages; the former is more than most kernels need for it. It
// is advice, without harm where there are no huge pages.
void* WithHugePages(void* allocation, size_t bytes) {
  constexpr uintptr_t kHugePageBytes = uintptr_t{2} << 20;
  const auto begin = reinterpret_cast<uintptr_t>(allocation);
  const uintptr_t first = (begin + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  const uintptr_t last = (begin + bytes) / kHugePageBytes * kHugePageBytes;
  if (allocation != nullptr && first < last) {
    madvise(static_cast<std::byte*>(allocation) + (first - begin), last - first, MADV_HUGEPAGE);
  }
  return allocation;
}

// Returns the limit of kept bytes: what a large join builds, at most 1/32 of the machine's memory.
size_t KeptBytesMax() {
  const auto machine_bytes = static_cast<size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
                             static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::min(size_t{512} << 20, machine_bytes / 32);
}

// Never destroyed: threads and statics that free blocks may outlive it.
BlockCache& Kept() {
  static auto& kept = *new BlockCache(KeptBytesMax());
  return kept;
}

std::byte* AllocateFromMalloc(size_t bytes) {
  const BlockCache::Block kept = Kept().Take(bytes);
  if (kept.memory != nullptr) return Begin(kept.memory, nullptr, kept.bytes);
  return Begin(WithHugePages(std::malloc(bytes), bytes), nullptr, bytes);
}

size_t WithHeader(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() - kBlockHeaderBytes) throw std::bad_alloc();
  return bytes + kBlockHeaderBytes;
}

}  // namespace

ScratchScope::ScratchScope(ScratchMemory* memory) : outer_(std::exchange(current_memory, memory)) {}
ScratchScope::~ScratchScope() { current_memory = outer_; }

std::byte* AllocateLargeBlock(size_t bytes) {
  const size_t allocated = WithHeader(bytes);
  CountBlock(allocated);
  if (current_memory == nullptr) {
    return AllocateFromMalloc(allocated);
  }
  absl::StatusOr<std::byte*> memory = current_memory->Allocate(allocated);
  if (!memory.ok()) throw ScratchExhausted{std::move(memory).status()};
  return Begin(*memory, current_memory, allocated);
}

void FreeLargeBlock(std::byte* block) noexcept {
  const BlockHeader header = HeaderOf(block);
  std::byte* const allocation = block - kBlockHeaderBytes;
  if (header.owner == nullptr) return Kept().Give({allocation, header.bytes});
  header.owner->Free(allocation, header.bytes);
}

std::byte* ReallocateLargeBlock(std::byte* block, size_t bytes, size_t used_bytes,
                                size_t new_bytes) {
  const bool large = bytes >= kLargeBlockBytes;
  if (large && new_bytes >= kLargeBlockBytes && current_memory == nullptr &&
      HeaderOf(block).owner == nullptr) {
    const size_t allocated = WithHeader(new_bytes);
    CountBlock(allocated);
    if (allocated <= HeaderOf(block).bytes) return block;
    // The system would clear pages for the new half, which costs as much as copying the old one. If
    // growing took no kept blocks, a buffer that grows, ends and is made anew would leave one more
    // each time.
    if (used_bytes <= new_bytes / 2) {
      const BlockCache::Block kept = Kept().Take(allocated);
      if (kept.memory != nullptr) {
        std::byte* const grown = Begin(kept.memory, nullptr, kept.bytes);
        std::memcpy(grown, block, used_bytes);
        FreeLargeBlock(block);
        return grown;
      }
    }
    void* const moved = std::realloc(block - kBlockHeaderBytes, allocated);
    return Begin(WithHugePages(moved, allocated), nullptr, allocated);
  }
  std::byte* const moved = AllocateBlock(new_bytes);
  if (block != nullptr) std::memcpy(moved, block, std::min(used_bytes, new_bytes));
  FreeBlock(block, bytes);
  return moved;
}

}  // namespace internal

uint64_t HeavyBlocks() { return internal::heavy_blocks.load(std::memory_order_relaxed); }

size_t KeptBlockBytes() { return internal::Kept().bytes(); }

void FreeKeptBlocks() { internal::Kept().Clear(); }

}  // namespace tickstack
