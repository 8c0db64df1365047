#pragma once

// A log-linear histogram with the bucket layout of HdrHistogram: latencies of any size, in fixed
// memory, to a chosen number of significant digits.
//
// Values below `sub_buckets` (2048 for 3 digits) have one counter each. Above, every power of two
// is divided into sub_buckets / 2 counters of equal width, so that a counter is never wider than 1
// / 1024 of its value (3 digits). For 2^42 ns (73 minutes) that makes 33 * 1024 counters: 264 KiB.
//
//   value     0 ... 2047 | 2048 ... 4095 | 4096 ... 8191 | ...
//   width          1     |       2       |       4       | ...
//   counters     2048    |     1024      |     1024      | ...

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tickstack {

// Threads: one owner. A copy is a consistent snapshot.
class Histogram {
 public:
  // Counts values from 0 to `highest` with `significant_digits` (1 to 5) decimal digits. Values
  // below 0 count as 0. Values above `highest` are counted in the last counter, but Max() is exact.
  explicit Histogram(int64_t highest = int64_t{1} << 42, int significant_digits = 3);

  // Cost: about 2 ns.
  void Record(int64_t value) { RecordMany(value, 1); }
  void RecordMany(int64_t value, uint64_t count) {
    if (count == 0) return;
    if (value < 0) value = 0;
    if (value < min_) min_ = value;
    if (value > max_) max_ = value;
    count_ += count;
    counts_[IndexOf(value < highest_ ? value : highest_)] += count;
  }

  // Adds the counts of `other`, which may have another precision: the result has the precision of
  // the coarser one.
  void Merge(const Histogram& other);
  void Reset();

  uint64_t Count() const { return count_; }
  int64_t Min() const { return count_ == 0 ? 0 : min_; }  // Exact; 0 if nothing was recorded.
  int64_t Max() const { return count_ == 0 ? 0 : max_; }  // Exact; 0 if nothing was recorded.
  // Returns the mean, with the histogram's precision; 0 if nothing was recorded. Cost: one pass
  // over the counters.
  double Mean() const;
  // Returns the smallest value such that `percentile` (0 to 100) per cent of the recorded values
  // are at or below it, rounded up to the end of its counter, but never above Max(). Percentile 100
  // gives Max(). 0 if nothing was recorded. Cost: one pass over the counters.
  int64_t ValueAtPercentile(double percentile) const;

  // Returns a pair for each nonzero counter, in ascending order: its largest value, but never above
  // Max(), and its count. Recording these pairs in another histogram gives the same percentiles.
  std::vector<std::pair<int64_t, uint64_t>> Counters() const;

  size_t memory_bytes() const { return counts_.size() * sizeof(uint64_t); }

 private:
  size_t IndexOf(int64_t value) const {
    // Position of the value's highest bit above those that the first 2^sub_bits_ counters cover.
    const auto unsigned_value = static_cast<uint64_t>(value);
    const int shift = static_cast<int>(std::bit_width(unsigned_value | sub_mask_)) - sub_bits_;
    return (static_cast<size_t>(shift) << (sub_bits_ - 1)) +
           static_cast<size_t>(unsigned_value >> shift);
  }
  int64_t LowestOf(size_t index) const;   // The smallest value of a counter.
  int64_t HighestOf(size_t index) const;  // The largest value of a counter.

  int64_t highest_;
  int sub_bits_;
  uint64_t sub_mask_;
  uint64_t count_ = 0;
  int64_t min_ = INT64_MAX;
  int64_t max_ = 0;
  std::vector<uint64_t> counts_;
};

}  // namespace tickstack
