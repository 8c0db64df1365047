#pragma once

// A histogram of durations that another thread may read at any time, for monitoring systems that
// scrape it and subtract an earlier reading: its counts only grow. It takes 232 bytes, while a
// Histogram takes up to 264 KiB, and it is coarser.
//
// Bucket i counts the durations above UpperNs(i - 1) and up to UpperNs(i). These bounds are powers
// of two from 1.024 us to 68.7 s. The last bucket counts all longer durations.

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tickstack {

// Threads: one writes at a time; any may read.
class DurationBuckets {
 public:
  static constexpr int kFirstBit = 10;
  static constexpr size_t kBounded = 27;  // Buckets with an upper bound.

  struct Counts {
    std::array<uint64_t, kBounded + 1> of_bucket = {};
    uint64_t sum_ns = 0;
  };

  static constexpr int64_t UpperNs(size_t bucket) {
    return int64_t{1} << (kFirstBit + static_cast<int>(bucket));
  }

  // Durations below 0 count as 0. Cost: about 2 ns.
  void Record(int64_t ns) {
    const uint64_t duration = ns > 0 ? static_cast<uint64_t>(ns) : 0;
    Add(counts_[BucketOf(duration)], 1);
    Add(sum_ns_, duration);
  }

  // A duration that is recorded during the call may be in the counts and not yet in the sum.
  Counts Read() const {
    Counts counts;
    counts.sum_ns = sum_ns_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < counts_.size(); ++i) {
      counts.of_bucket[i] = counts_[i].load(std::memory_order_relaxed);
    }
    return counts;
  }

 private:
  static size_t BucketOf(uint64_t ns) {
    const int bits = ns <= 1 ? 0 : static_cast<int>(std::bit_width(ns - 1));
    return std::min(kBounded, static_cast<size_t>(std::max(0, bits - kFirstBit)));
  }
  // Not a read-modify-write operation: there is one writer.
  static void Add(std::atomic<uint64_t>& to, uint64_t more) {
    to.store(to.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }

  std::array<std::atomic<uint64_t>, kBounded + 1> counts_ = {};
  std::atomic<uint64_t> sum_ns_{0};
};

}  // namespace tickstack
