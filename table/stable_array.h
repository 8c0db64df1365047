#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tickstack {

// An array that grows and never moves: it has segments of 64, 128, 256, ... elements, so that a
// reader finds an element by its index without a lock while the writer adds more. Elements start
// value-initialised. They are in ordinary memory, so use it for directories and headers, not for
// rows.
//
// Threads: one writer calls Reserve. Any thread may use an element once it has learned by an
// acquire load (of a row count, of an id) that the element is there: that load pairs with the
// writer's release store, which comes after Reserve and after the element was written.
template <typename T>
class StableArray {
 public:
  StableArray() = default;
  StableArray(const StableArray&) = delete;
  StableArray& operator=(const StableArray&) = delete;
  ~StableArray() {
    for (std::atomic<T*>& segment : segments_) delete[] segment.load(std::memory_order_relaxed);
  }

  // Makes elements [0, count) usable. Allocates all segments up to there: O(count) in total.
  void Reserve(size_t count) {
    while (reserved_ < count) {
      const size_t segment = SegmentOf(reserved_);
      segments_[segment].store(new T[kFirst << segment](), std::memory_order_release);
      reserved_ += kFirst << segment;
    }
  }
  size_t reserved() const { return reserved_; }  // Writer only.

  T& operator[](size_t i) {
    const size_t segment = SegmentOf(i);
    return segments_[segment].load(std::memory_order_acquire)[i + kFirst - (kFirst << segment)];
  }
  const T& operator[](size_t i) const { return const_cast<StableArray&>(*this)[i]; }

 private:
  static constexpr size_t kFirst = 64;
  static constexpr size_t kFirstWidth = 7;  // std::bit_width(kFirst).
  static size_t SegmentOf(size_t i) {
    return static_cast<size_t>(std::bit_width(i + kFirst)) - kFirstWidth;
  }

  std::atomic<T*> segments_[40] = {};
  size_t reserved_ = 0;
};

}  // namespace tickstack
