#pragma once

// The content of a compressed file in memory, and how much of it the process keeps.
//
//   CompressedFile  - - -weak- - ->  DecompressedImage  <---- current readers (PinnedBytes)
//                                           ^
//   DecompressedCache  ---------------------'   while there is room
//
// The cache evicts images by the clock algorithm: an image that was used since the clock's hand
// last passed it stays for another round. An evicted image exists while it has readers, and further
// readers share it. So a query never loses the bytes that it reads, and memory beyond the cache's
// limit is freed when the query ends.

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

namespace tickstack::disk {

// An image is filled once, together by all threads that request it meanwhile: each repeatedly takes
// the next block until none is left, and then waits for the blocks of the other threads. Threads:
// any.
class DecompressedImage {
 public:
  // kResourceExhausted if DecompressedBytesMax() would be exceeded even after evicting everything
  // that only the cache holds.
  static absl::StatusOr<std::shared_ptr<DecompressedImage>> Make(uint64_t bytes,
                                                                 uint64_t block_bytes,
                                                                 size_t blocks);
  DecompressedImage(const DecompressedImage&) = delete;
  ~DecompressedImage();

  // Calls decompress(block, out) for each block that no thread has taken yet, and returns when all
  // blocks are done. All threads get the first error.
  absl::Status Fill(absl::FunctionRef<absl::Status(size_t, std::span<std::byte>)> decompress);
  // Valid after Fill returned OK.
  std::span<const std::byte> bytes() const { return memory_.bytes(); }

 private:
  friend class DecompressedCache;
  DecompressedImage(uint64_t block_bytes, size_t blocks)
      : block_bytes_(block_bytes), blocks_(blocks) {}

  const uint64_t block_bytes_;
  const size_t blocks_;
  uint64_t claimed_ = 0;           // Bytes that this image adds to DecompressedBytes().
  Mapping memory_;                 // Allocated before other threads see the image.
  std::span<std::byte> writable_;  // In memory_; each block is written by the thread that took it.
  std::atomic<size_t> next_block_{0};
  std::atomic<bool> failed_{false};
  // Stored once with release, which pairs with the acquire in Fill.
  std::atomic<bool> whole_{false};

  std::mutex mutex_;
  std::condition_variable done_;
  size_t blocks_done_ = 0;  // Guarded by mutex_.
  absl::Status status_;     // Guarded by mutex_: the first error.

  std::atomic<bool> cached_{false};  // Changed under the cache's mutex.
  // True if the image was used since the clock's hand last passed it.
  std::atomic<bool> used_{false};
};

// One per process. Threads: any.
class DecompressedCache {
 public:
  static DecompressedCache& Instance();

  // Records that an image is used. Adds it to the cache, and evicts other images if there is no
  // room.
  void Use(const std::shared_ptr<DecompressedImage>& image);
  // Removes an image whose file was closed.
  void Remove(const DecompressedImage* image);

  uint64_t evictions() const { return evictions_.load(std::memory_order_relaxed); }
  // Returns the limit on the total size of the cached images. Default: a quarter of the machine's
  // memory.
  uint64_t max_bytes() const { return max_bytes_.load(std::memory_order_relaxed); }
  void SetMaxBytes(uint64_t bytes);

 private:
  friend class DecompressedImage;
  using Images = std::list<std::shared_ptr<DecompressedImage>>;

  DecompressedCache();
  void Evict(Images::iterator image, Images& gone);
  void Shrink(Images& gone);
  // Releases images that only the cache holds until `bytes` bytes are free. False if there was no
  // such image.
  bool Free(uint64_t bytes);

  std::mutex mutex_;
  Images images_;       // Guarded by mutex_: in clock order.
  uint64_t bytes_ = 0;  // Guarded by mutex_: bytes of images_.
  std::atomic<uint64_t> max_bytes_;
  std::atomic<uint64_t> evictions_{0};
};

// Returns the memory of all decompressed files in this process, including those in use. Any thread
// may call this function and the next two.
uint64_t DecompressedBytes();
// Returns the limit of DecompressedBytes(), by default half of the machine's memory. Decompressing
// a file beyond it fails with kResourceExhausted.
uint64_t DecompressedBytesMax();
void SetDecompressedBytesMax(uint64_t bytes);

}  // namespace tickstack::disk
