#pragma once

// The exact integral of values over time (exact_sum.h), and its duration. Their quotient is a
// time-weighted mean.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggengine/exact_sum.h"

namespace tickstack::aggengine {

struct ExactIntegral {
  ExactSum sum;  // The sum of value * ns.
  int64_t over_ns = 0;

  // Adds a value that is valid for `ns`. Ignores nulls, and values too large for a sum.
  void Add(double value, int64_t ns) {
    if (ns == 0 || !InRangeByTime(value)) return;
    sum.AddOverTime(value, ns);
    over_ns += ns;
  }
  void Add(const ExactIntegral& other) {
    sum.AddSum(other.sum);
    over_ns += other.over_ns;
  }
};

// Computes an ExactIntegral for any range of a batch's rows, where each row's value is valid until
// the next row's time. Meant for ranges of few rows, where a loop over each range would cost more
// in mispredicted branches than the sums themselves.
//
//   units[i]   the sum of the terms of rows 1 to i, in 128 bits that may wrap: the sum of a range
//              is the difference of two, which is exact for integers
//
// A term below 2^38 is below 2^118 units, so the difference over 256 rows is correct. Larger terms
// are rare (a value of a million for three days), and are added separately.
//
// Cost: some 3 ns per row. Threads: one owner.
class ExactIntegrals {
 public:
  // Loads rows. Times may descend between two rows only if no range of AddTo contains both. The
  // spans must outlive this.
  void Load(std::span<const int64_t> times, std::span<const double> values);

  // Adds the integral between rows [begin, end).
  void AddTo(size_t begin, size_t end, ExactIntegral& integral) const;

 private:
  static constexpr size_t kRowsMax = 256;

  std::span<const int64_t> times_;
  std::span<const double> values_;
  std::vector<unsigned __int128> units_;
  std::vector<int64_t> over_ns_;  // Durations, summed like units_.
  std::vector<uint32_t> large_;   // Number of terms that are not in units_, summed like units_.
};

}  // namespace tickstack::aggengine
