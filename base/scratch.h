#pragma once

// Scratch memory holds a computation's large blocks. A query's results and temporaries are
// ByteBuffers and vectors. Within InScratch(), their blocks of kLargeBlockBytes and more come from
// the given memory, which may be slower and larger than DRAM. Smaller blocks, and all blocks
// outside of InScratch(), come from malloc, because a scratch memory may need a page of 2 MiB for
// each block.
//
//   large block   | owner, bytes ... | the caller's bytes |      owner: nullptr is malloc
//                 |<--- 64 bytes --->|
//
// A block knows its owner, so it may outlive the computation, and any thread may free it: a
// socket's thread frees an answer that another thread built. The memory must outlive all its
// blocks.
//
// Freed large blocks of malloc are kept for later requests (block_cache.h): at most 512 MiB, or
// 1/32 of the machine's memory if that is less.
//
// When a scratch memory is full, the computation ends with an error, and the process continues: the
// allocation throws, and InScratch() catches the exception and returns an error. The exception
// cannot leave InScratch(), because a thread allocates from a scratch memory only inside it
// (docs/decisions/0006-scratch-memory-throws.md).

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace tickstack {

// Threads: any thread may call any member.
class ScratchMemory {
 public:
  virtual ~ScratchMemory() = default;
  // Returns memory of any content, aligned to 64 bytes. kResourceExhausted, with the memory's name,
  // if less than `bytes` is free.
  virtual absl::StatusOr<std::byte*> Allocate(size_t bytes) = 0;
  // Frees what Allocate(bytes) returned.
  virtual void Free(std::byte* memory, size_t bytes) = 0;
  virtual const std::string& name() const = 0;
  virtual size_t capacity_bytes() const = 0;  // SIZE_MAX: limited only by the machine.
};

inline constexpr size_t kLargeBlockBytes = size_t{64} << 10;
inline constexpr size_t kBlockHeaderBytes = 64;  // Keeps the memory's alignment.

namespace internal {

// Thrown by allocations from a scratch memory that is full.
struct ScratchExhausted {
  absl::Status status;
};

// Sets the memory from which this thread allocates large blocks; the destructor restores the
// previous one.
class ScratchScope {
 public:
  explicit ScratchScope(ScratchMemory* memory);
  ~ScratchScope();
  ScratchScope(const ScratchScope&) = delete;
  ScratchScope& operator=(const ScratchScope&) = delete;

 private:
  ScratchMemory* const outer_;
};

std::byte* AllocateLargeBlock(size_t bytes);
void FreeLargeBlock(std::byte* block) noexcept;
// Moves a block to one of another size, with its first `used_bytes`. At least one of the two sizes
// must be kLargeBlockBytes or more.
std::byte* ReallocateLargeBlock(std::byte* block, size_t bytes, size_t used_bytes,
                                size_t new_bytes);

}  // namespace internal

// Returns a block of `bytes` > 0, aligned to 16. Errors: if malloc fails, std::bad_alloc.
inline std::byte* AllocateBlock(size_t bytes) {
  if (bytes >= kLargeBlockBytes) return internal::AllocateLargeBlock(bytes);
  void* const block = std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(block);
}

// `bytes` must be the allocated size; nullptr with 0 bytes is allowed.
inline void FreeBlock(std::byte* block, size_t bytes) noexcept {
  if (bytes >= kLargeBlockBytes) return internal::FreeLargeBlock(block);
  std::free(block);
}

// Enlarges a block and keeps its first `used_bytes`. Without a scratch memory, the C library moves
// the pages of a large block, without a copy.
inline std::byte* ReallocateBlock(std::byte* block, size_t bytes, size_t used_bytes,
                                  size_t new_bytes) {
  if (bytes >= kLargeBlockBytes || new_bytes >= kLargeBlockBytes) {
    return internal::ReallocateLargeBlock(block, bytes, used_bytes, new_bytes);
  }
  void* const moved = std::realloc(block, new_bytes);
  if (moved == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(moved);
}

// Runs f() with its large blocks in `memory` (nullptr: malloc) and returns the result of f, an
// absl::Status or StatusOr. If the memory was full, returns on_full(status) with the memory's
// error. f's locals are destroyed as by an early return. If an allocation of f throws, f must not
// leave data half changed that outlives it.
template <typename F, typename OnFull>
auto InScratch(ScratchMemory* memory, F f, OnFull on_full) -> decltype(f()) {
  const internal::ScratchScope scope(memory);
  try {
    return f();
  } catch (const internal::ScratchExhausted& full) {
    return on_full(full.status);
  }
}

// An allocator for vectors of a computation whose sizes depend on its data.
template <typename T>
struct ScratchAllocator {
  using value_type = T;

  ScratchAllocator() = default;
  template <typename U>
  ScratchAllocator(const ScratchAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(size_t n) {
    // Checked here, because T may be incomplete where a vector of T is named.
    static_assert(alignof(T) <= 16);
    if (n > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
    return reinterpret_cast<T*>(AllocateBlock(n * sizeof(T)));
  }
  void deallocate(T* block, size_t n) noexcept {
    FreeBlock(reinterpret_cast<std::byte*>(block), n * sizeof(T));
  }
  friend bool operator==(const ScratchAllocator&, const ScratchAllocator&) { return true; }
};

template <typename T>
using ScratchVector = std::vector<T, ScratchAllocator<T>>;
using ScratchString = std::basic_string<char, std::char_traits<char>, ScratchAllocator<char>>;

}  // namespace tickstack
