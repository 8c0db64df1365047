#include "base/scratch.h"

#include <algorithm>
#include <cstring>

namespace tickstack::internal {
namespace {

// What stands before the bytes of a large block.
struct BlockHeader {
  ScratchMemory* owner;
  size_t bytes;  // Of the allocation, the header's included.
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

size_t WithHeader(size_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max() - kBlockHeaderBytes) throw std::bad_alloc();
  return bytes + kBlockHeaderBytes;
}

}  // namespace

ScratchScope::ScratchScope(ScratchMemory* memory) : outer_(std::exchange(current_memory, memory)) {}
ScratchScope::~ScratchScope() { current_memory = outer_; }

std::byte* AllocateLargeBlock(size_t bytes) {
  const size_t allocated = WithHeader(bytes);
  if (current_memory == nullptr) return Begin(std::malloc(allocated), nullptr, allocated);
  absl::StatusOr<std::byte*> memory = current_memory->Allocate(allocated);
  if (!memory.ok()) throw ScratchExhausted{std::move(memory).status()};
  return Begin(*memory, current_memory, allocated);
}

void FreeLargeBlock(std::byte* block) noexcept {
  const BlockHeader header = HeaderOf(block);
  std::byte* const allocation = block - kBlockHeaderBytes;
  if (header.owner == nullptr) return std::free(allocation);
  header.owner->Free(allocation, header.bytes);
}

std::byte* ReallocateLargeBlock(std::byte* block, size_t bytes, size_t used_bytes,
                                size_t new_bytes) {
  const bool large = bytes >= kLargeBlockBytes;
  if (large && new_bytes >= kLargeBlockBytes && current_memory == nullptr &&
      HeaderOf(block).owner == nullptr) {
    const size_t allocated = WithHeader(new_bytes);
    return Begin(std::realloc(block - kBlockHeaderBytes, allocated), nullptr, allocated);
  }
  std::byte* const moved = AllocateBlock(new_bytes);
  if (block != nullptr) std::memcpy(moved, block, std::min(used_bytes, new_bytes));
  FreeBlock(block, bytes);
  return moved;
}

}  // namespace tickstack::internal
