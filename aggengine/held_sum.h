#pragma once

// What values that held for some time add to a mean over time: their exact integral
// (exact_sum.h), and how long that is over.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "aggengine/exact_sum.h"

namespace tickstack::aggengine {

struct HeldSum {
  uint64_t integral[kExactWords] = {};
  int64_t over_ns = 0;

  // Adds a value that held for `ns`. Nulls, and values too large for a sum, are ignored.
  void Add(double value, int64_t ns) {
    if (ns == 0 || !InRangeByTime(value)) return;
    AddExactOverTime(value, ns, false, integral);
    over_ns += ns;
  }
};

// The same of any stretch of a batch's rows, each row's value held until the next one's time, for
// stretches of which most have few rows: what a loop over each would cost in mispredicted ends is
// more than the sums.
//
//   units[i]   the terms of rows 1 to i added up, in 128 bits that may wrap: what a stretch adds is
//              the difference of two, for integers lose nothing
//
// A term below 2^38 in value is below 2^118 units, so that of 256 rows a difference is right.
// Larger terms are rare (a value of a million for three days), and are added by themselves.
//
// Cost: some 3 ns a row. Threads: one owner.
class HeldSums {
 public:
  // Rows in any order: of a pair of them that is not in the order of time nothing is kept, so no
  // stretch may have it inside. The spans outlive the sums.
  void Load(std::span<const int64_t> times, std::span<const double> values);

  // Adds what rows [begin, end) held from one to the next.
  void AddTo(size_t begin, size_t end, HeldSum& sum) const;

 private:
  static constexpr size_t kRowsMax = 256;

  std::span<const int64_t> times_;
  std::span<const double> values_;
  std::vector<unsigned __int128> units_;
  std::vector<int64_t> over_ns_;  // Likewise,
  std::vector<uint32_t> large_;   // and how many terms are not in units_.
};

}  // namespace tickstack::aggengine
