#pragma once

// What a compressed file becomes in memory, and how much of that the process keeps.
//
//   CompressedFile  - - -weak- - ->  DecompressedImage  <---- who reads it now (HeldBytes)
//                                           ^
//   DecompressedCache  ---------------------'   as long as there is room
//
// The cache lets go of images in the order of a clock: each that was used since the hand came by
// stays for another round. An image that somebody reads lives until he is done, and whoever wants
// it meanwhile shares it. So a query never loses what it reads, and what it took beyond the cache's
// room is free when it ends.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mapping.h"

namespace tickstack {

// Filled once, by all threads that ask for it meanwhile: each takes the next block until there is
// none left, and then waits for those that others still work at. Threads: any.
class DecompressedImage {
 public:
  // kResourceExhausted if DecompressedBytesMax() does not allow it, even without what only the
  // cache holds.
  static absl::StatusOr<std::shared_ptr<DecompressedImage>> Make(uint64_t bytes,
                                                                 uint64_t block_bytes,
                                                                 size_t blocks);
  DecompressedImage(const DecompressedImage&) = delete;
  ~DecompressedImage();

  // Calls decompress(block, out) for each block that nobody has taken yet; returns when all are
  // done. The first error is everybody's.
  absl::Status Fill(absl::FunctionRef<absl::Status(size_t, std::span<std::byte>)> decompress);
  std::span<const std::byte> bytes() const { return memory_.bytes(); }  // Once Fill was ok.

 private:
  friend class DecompressedCache;
  DecompressedImage(uint64_t block_bytes, size_t blocks)
      : block_bytes_(block_bytes), blocks_(blocks) {}

  const uint64_t block_bytes_;
  const size_t blocks_;
  uint64_t claimed_ = 0;           // Of DecompressedBytesMax().
  Mapping memory_;                 // Made before anybody else sees this.
  std::span<std::byte> writable_;  // Of memory_; each block by the thread that took it.
  std::atomic<size_t> next_block_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> whole_{false};  // One store with release, which pairs with the acquire in Fill.

  std::mutex mutex_;
  std::condition_variable done_;
  size_t blocks_done_ = 0;  // Guarded by mutex_.
  absl::Status status_;     // Guarded by mutex_: the first error.

  std::atomic<bool> cached_{false};  // Changed under the cache's mutex.
  std::atomic<bool> used_{false};    // Since the hand came by.
};

// One a process. Threads: any.
class DecompressedCache {
 public:
  static DecompressedCache& Instance();

  // Says that somebody uses an image: keeps it, and lets go of others if there is no room.
  void Use(const std::shared_ptr<DecompressedImage>& image);
  // Its file is gone.
  void Remove(const DecompressedImage* image);

  uint64_t evictions() const { return evictions_.load(std::memory_order_relaxed); }
  // Limit of the bytes of images that are not in use. Default: a quarter of the machine's memory.
  uint64_t max_bytes() const { return max_bytes_.load(std::memory_order_relaxed); }
  void SetMaxBytes(uint64_t bytes);

 private:
  friend class DecompressedImage;
  using Images = std::list<std::shared_ptr<DecompressedImage>>;

  DecompressedCache();
  void LetGo(Images::iterator image, Images& gone);
  void Shrink(Images& gone);
  // Releases images that only the cache holds until `bytes` bytes are free. False if there was
  // none.
  bool Free(uint64_t bytes);

  std::mutex mutex_;
  Images images_;       // Guarded by mutex_: in the order in which the hand comes by.
  uint64_t bytes_ = 0;  // Guarded by mutex_: of images_.
  std::atomic<uint64_t> max_bytes_;
  std::atomic<uint64_t> evictions_{0};
};

// The memory of all decompressed files in this process, including those in use, and its limit.
// Decompressing beyond the limit is kResourceExhausted. Default: half of the machine's memory.
// Threads: any.
uint64_t DecompressedBytes();
uint64_t DecompressedBytesMax();
void SetDecompressedBytesMax(uint64_t bytes);

}  // namespace tickstack
