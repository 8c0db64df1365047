#pragma once

// The contents of the vectors: a quarter each of distinct items in order, one value, distinct items
// in random order, and few distinct values. This is the mixture that nano uses.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tickstack::measure::storage_bench {

// A pseudo-random sequence that is fast enough to fill large vectors (xorshift64*).
class FastRandom {
 public:
  explicit FastRandom(uint64_t seed) : state_(seed * 2 + 1) {}
  uint64_t Next() {
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return state_ * 0x2545F4914F6CDD1DU;
  }
  // Returns a number below `limit`, which must be below 2^32.
  uint64_t Below(uint64_t limit) { return ((Next() >> 32) * limit) >> 32; }

 private:
  uint64_t state_;
};

std::vector<int64_t> SampleLongs(size_t n);
std::vector<double> SampleFloats(size_t n);

// Returns n positions of symbols, each below `symbols`.
std::vector<int64_t> SamplePositions(size_t n, size_t symbols);

// Returns `n` random row numbers below `rows`.
std::vector<size_t> SampleRows(size_t n, size_t rows, uint64_t seed);

}  // namespace tickstack::measure::storage_bench
