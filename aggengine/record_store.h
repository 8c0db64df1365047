#pragma once

// Allocates records of one size from a tier. Records do not move, and all are freed together.
// Records are padded to whole cache lines if that enlarges them by at most an eighth. Without
// padding, every second record of 120 bytes would span three cache lines instead of two.
//
// Threads: one owner.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mem/tier.h"

namespace tickstack::aggengine {

class RecordStore {
 public:
  // `record_bytes` is the size of a record, a multiple of 8. The tier must outlive this object.
  RecordStore(mem::Tier* tier, size_t record_bytes)
      : tier_(tier), record_bytes_(record_bytes), stride_(StrideOf(record_bytes)) {}
  ~RecordStore() { Clear(); }
  RecordStore(const RecordStore&) = delete;
  RecordStore& operator=(const RecordStore&) = delete;

  // Returns an uninitialised record, aligned to 8 bytes. Returns nullptr if the tier is full, or
  // was full at an earlier call since the last TryAgain.
  std::byte* New() {
    if (left_ == 0 && (full_ || !Grow())) return nullptr;
    std::byte* const record = next_;
    next_ += stride_;
    --left_;
    ++records_;
    return record;
  }
  // Lets New ask the tier again after it was full. Called once per batch, because asking a full
  // tier costs more than taking a row.
  void TryAgain() { full_ = false; }
  void Clear() {
    for (const Chunk& chunk : chunks_) tier_->Free(chunk.memory, chunk.bytes);
    chunks_.clear();
    left_ = records_ = 0;
  }
  size_t record_bytes() const { return record_bytes_; }
  size_t records() const { return records_; }
  size_t bytes() const {
    size_t bytes = 0;
    for (const Chunk& chunk : chunks_) bytes += chunk.bytes;
    return bytes;
  }

 private:
  static constexpr size_t kFirstBytes = size_t{64} << 10, kMostBytes = size_t{2} << 20;
  struct Chunk {
    std::byte* memory;
    size_t bytes;
  };

  static constexpr size_t StrideOf(size_t record_bytes) {
    constexpr size_t kLine = 64;
    const size_t lines = (record_bytes + kLine - 1) / kLine * kLine;
    return lines * 8 <= record_bytes * 9 ? lines : record_bytes;
  }

  bool Grow() {
    const size_t bytes = chunks_.empty()                     ? kFirstBytes
                         : chunks_.back().bytes < kMostBytes ? chunks_.back().bytes * 2
                                                             : kMostBytes;
    absl::StatusOr<std::byte*> memory = tier_->Allocate(bytes);
    full_ = !memory.ok();
    if (full_) return false;
    chunks_.push_back({*memory, bytes});
    next_ = *memory;
    left_ = bytes / stride_;
    return true;
  }

  mem::Tier* const tier_;
  const size_t record_bytes_;
  const size_t stride_;  // Bytes between the starts of successive records.
  std::vector<Chunk> chunks_;
  std::byte* next_ = nullptr;
  size_t left_ = 0;
  bool full_ = false;
  size_t records_ = 0;
};

}  // namespace tickstack::aggengine
