#pragma once

// Scratch memory: where a computation's large blocks live. A query's results and temporaries are
// ByteBuffers and vectors; while it runs inside InScratch(), those of kLargeBlockBytes and more
// come from the memory that was passed, which may be slower and larger than DRAM. Smaller blocks,
// and all blocks outside of InScratch(), are malloc's: a page of 2 MiB for an atom would be worse
// than what it saves.
//
//   large block   | owner, bytes ... | the caller's bytes |      owner: nullptr is malloc
//                 |<--- 64 bytes --->|
//
// A block knows its owner, so it may outlive the computation and be freed by any thread: a socket's
// thread frees the answer that another one built. The memory outlives all its blocks.
//
// malloc's large blocks are kept when they are freed, a bounded number of bytes, for the next that
// asks (block_cache.h): 512 MiB, or a 32nd of the machine's memory if that is less.
//
// A full memory ends the computation, not the process: the allocation throws, InScratch() catches
// and returns an error. Nothing else throws that exception and nothing lets it pass, since
// a thread allocates from such a memory inside InScratch() only
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
  // Memory of any content, aligned to 64 bytes. kResourceExhausted, with the memory's name, if it
  // does not hold `bytes` more.
  virtual absl::StatusOr<std::byte*> Allocate(size_t bytes) = 0;
  // Gives back what Allocate(bytes) returned.
  virtual void Free(std::byte* memory, size_t bytes) = 0;
  virtual const std::string& name() const = 0;
  virtual size_t capacity_bytes() const = 0;  // SIZE_MAX: bounded by the machine only.
};

inline constexpr size_t kLargeBlockBytes = size_t{64} << 10;
inline constexpr size_t kBlockHeaderBytes = 64;  // Keeps the memory's alignment.

namespace internal {

// Thrown by allocations from a scratch memory that is full.
struct ScratchExhausted {
  absl::Status status;
};

// The memory that this thread's large blocks come from; restores the last one when it ends.
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
// Either size is a large one. Keeps the first `used_bytes`.
std::byte* ReallocateLargeBlock(std::byte* block, size_t bytes, size_t used_bytes,
                                size_t new_bytes);

}  // namespace internal

// A block of `bytes` > 0, aligned to 16. Errors: malloc's failure is std::bad_alloc.
inline std::byte* AllocateBlock(size_t bytes) {
  if (bytes >= kLargeBlockBytes) return internal::AllocateLargeBlock(bytes);
  void* const block = std::malloc(bytes);
  if (block == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(block);
}

// `bytes` are those that it was allocated with; nullptr of 0 bytes is no block.
inline void FreeBlock(std::byte* block, size_t bytes) noexcept {
  if (bytes >= kLargeBlockBytes) return internal::FreeLargeBlock(block);
  std::free(block);
}

// Makes a block larger and keeps its first `used_bytes`. Without a scratch memory the C library
// moves the pages of a large block, without a copy.
inline std::byte* ReallocateBlock(std::byte* block, size_t bytes, size_t used_bytes,
                                  size_t new_bytes) {
  if (bytes >= kLargeBlockBytes || new_bytes >= kLargeBlockBytes) {
    return internal::ReallocateLargeBlock(block, bytes, used_bytes, new_bytes);
  }
  void* const moved = std::realloc(block, new_bytes);
  if (moved == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(moved);
}

// Runs f() with its large blocks in `memory` (nullptr: in malloc's) and returns its result, which
// is an absl::Status or StatusOr; on_full(status) with the memory's error if it was full. f's
// locals are destroyed as by an early return. What outlives f must not be half changed when one of
// f's allocations throws.
template <typename F, typename OnFull>
auto InScratch(ScratchMemory* memory, F f, OnFull on_full) -> decltype(f()) {
  const internal::ScratchScope scope(memory);
  try {
    return f();
  } catch (const internal::ScratchExhausted& full) {
    return on_full(full.status);
  }
}

// For the vectors of a computation whose sizes depend on its data.
template <typename T>
struct ScratchAllocator {
  using value_type = T;

  ScratchAllocator() = default;
  template <typename U>
  ScratchAllocator(const ScratchAllocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(size_t n) {
    static_assert(alignof(T) <=
                  16);  // Here, since T may be incomplete where a vector of it is named.
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
