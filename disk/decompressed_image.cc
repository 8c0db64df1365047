#include "disk/decompressed_image.h"

#include <unistd.h>

#include <iterator>
#include <utility>

#include "base/status.h"

namespace tickstack::disk {
namespace {

uint64_t PartOfMemory(uint64_t divisor) {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0) return UINT64_MAX;
  return static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes) / divisor;
}

// The counters order no other data.
std::atomic<uint64_t>& Used() {
  static std::atomic<uint64_t> used{0};
  return used;
}
std::atomic<uint64_t>& Limit() {
  static std::atomic<uint64_t> limit{PartOfMemory(2)};
  return limit;
}

bool Claim(uint64_t bytes) {
  const uint64_t limit = DecompressedBytesMax();
  const uint64_t used = Used().fetch_add(bytes, std::memory_order_relaxed);
  if (used <= limit && bytes <= limit - used) return true;
  Used().fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

}  // namespace

uint64_t DecompressedBytes() { return Used().load(std::memory_order_relaxed); }
uint64_t DecompressedBytesMax() { return Limit().load(std::memory_order_relaxed); }
void SetDecompressedBytesMax(uint64_t bytes) { Limit().store(bytes, std::memory_order_relaxed); }

absl::StatusOr<std::shared_ptr<DecompressedImage>> DecompressedImage::Make(uint64_t bytes,
                                                                           uint64_t block_bytes,
                                                                           size_t blocks) {
  std::shared_ptr<DecompressedImage> image(new DecompressedImage(block_bytes, blocks));
  while (!Claim(bytes)) {
    if (DecompressedCache::Instance().Free(bytes)) continue;
    return ResourceExhausted("{} bytes to decompress it, decompressed files hold {} of at most {}",
                             bytes, DecompressedBytes(), DecompressedBytesMax());
  }
  image->claimed_ = bytes;
  TS_ASSIGN_OR_RETURN(image->memory_, Mapping::OfMemory(bytes));
  image->writable_ = image->memory_.writable_bytes();
  return image;
}

DecompressedImage::~DecompressedImage() { Used().fetch_sub(claimed_, std::memory_order_relaxed); }

absl::Status DecompressedImage::Fill(
    absl::FunctionRef<absl::Status(size_t, std::span<std::byte>)> decompress) {
  if (whole_.load(std::memory_order_acquire)) return absl::OkStatus();
  while (true) {
    const size_t i = next_block_.fetch_add(1, std::memory_order_relaxed);
    if (i >= blocks_) break;
    // After the first damaged block, further work is useless.
    absl::Status status;
    if (!failed_.load(std::memory_order_relaxed)) {
      const uint64_t begin = i * block_bytes_;
      const uint64_t n = i + 1 < blocks_ ? block_bytes_ : writable_.size() - begin;
      status = decompress(i, writable_.subspan(begin, n));
    }
    const std::lock_guard lock(mutex_);  // Publishes this thread's writes to waiting threads.
    if (!status.ok() && status_.ok()) status_ = status;
    if (!status.ok()) failed_.store(true, std::memory_order_relaxed);
    if (++blocks_done_ == blocks_) done_.notify_all();
  }
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return blocks_done_ == blocks_; });
  TS_RETURN_IF_ERROR(status_);
  whole_.store(true, std::memory_order_release);
  return absl::OkStatus();
}

DecompressedCache::DecompressedCache() : max_bytes_(PartOfMemory(4)) {}

// Never destroyed: files may outlive static objects.
DecompressedCache& DecompressedCache::Instance() {
  static auto* const cache = new DecompressedCache();
  return *cache;
}

// Images are freed with `gone`, outside of the mutex, because unmapping takes time.
void DecompressedCache::Evict(Images::iterator image, Images& gone) {
  bytes_ -= (*image)->claimed_;
  (*image)->cached_.store(false, std::memory_order_relaxed);
  gone.splice(gone.end(), images_, image);
}

void DecompressedCache::Shrink(Images& gone) {
  const uint64_t max_bytes = max_bytes_.load(std::memory_order_relaxed);
  for (size_t chances = images_.size(); bytes_ > max_bytes;) {
    const auto first = images_.begin();
    if (chances > 0 && (*first)->used_.exchange(false, std::memory_order_relaxed)) {
      --chances;
      images_.splice(images_.end(), images_, first);
      continue;
    }
    Evict(first, gone);
    evictions_.fetch_add(1, std::memory_order_relaxed);
  }
}

void DecompressedCache::Use(const std::shared_ptr<DecompressedImage>& image) {
  image->used_.store(true, std::memory_order_relaxed);
  if (image->cached_.load(std::memory_order_relaxed)) return;
  Images gone;
  const std::lock_guard lock(mutex_);
  if (image->cached_.exchange(true, std::memory_order_relaxed)) return;
  images_.push_back(image);
  bytes_ += image->claimed_;
  Shrink(gone);
}

void DecompressedCache::Remove(const DecompressedImage* image) {
  Images gone;
  const std::lock_guard lock(mutex_);
  if (!image->cached_.load(std::memory_order_relaxed)) return;
  for (auto at = images_.begin(); at != images_.end(); ++at) {
    if (at->get() == image) return Evict(at, gone);
  }
}

void DecompressedCache::SetMaxBytes(uint64_t bytes) {
  Images gone;
  const std::lock_guard lock(mutex_);
  max_bytes_.store(bytes, std::memory_order_relaxed);
  Shrink(gone);
}

bool DecompressedCache::Free(uint64_t bytes) {
  Images gone;
  uint64_t freed = 0;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = images_.begin(); at != images_.end() && freed < bytes;) {
      const auto next = std::next(at);
      // Another thread may take a reference meanwhile, which only keeps the image alive longer.
      if (at->use_count() == 1) {
        freed += (*at)->claimed_;
        Evict(at, gone);
        evictions_.fetch_add(1, std::memory_order_relaxed);
      }
      at = next;
    }
  }
  return freed > 0;
}

}  // namespace tickstack::disk
