#include "aggengine/exact_integral.h"

#include <algorithm>

namespace tickstack::aggengine {

void ExactIntegrals::Load(std::span<const int64_t> times, std::span<const double> values) {
  times_ = times;
  values_ = values;
  units_.resize(times.size());
  over_ns_.resize(times.size());
  large_.resize(times.size());
  unsigned __int128 units = 0;
  uint64_t over_ns = 0;
  uint32_t large = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    const double value = i == 0 ? 0 : values[i - 1];
    // Wraps between rows of two symbols, whose term is not used.
    const auto wrapped =
        i == 0 ? 0 : static_cast<uint64_t>(times[i]) - static_cast<uint64_t>(times[i - 1]);
    const auto ns = static_cast<int64_t>(wrapped);
    const bool small = ns > 0 && std::fabs(value) * static_cast<double>(ns) < 0x1p38;
    const bool counts = ns > 0 && InRangeByTime(value);
    const internal::Parts x = internal::SplitOverTime(small ? value : 0);
    const unsigned __int128 term = static_cast<unsigned __int128>(x.mantissa)
                                   << (x.exponent + internal::kFractionBits);
    const unsigned __int128 product = term * static_cast<uint64_t>(small ? ns : 0);
    units += x.negative ? -product : product;
    over_ns += small ? wrapped : 0;
    large += counts && !small ? 1 : 0;
    units_[i] = units;
    over_ns_[i] = static_cast<int64_t>(over_ns);
    large_[i] = large;
  }
}

void ExactIntegrals::AddTo(size_t begin, size_t end, ExactIntegral& integral) const {
  while (begin + 1 < end) {
    const size_t last = std::min(end - 1, begin + kRowsMax);
    const auto units = static_cast<__int128>(units_[last] - units_[begin]);
    integral.sum.AddSum(ExactSum::FromUnits(units));
    integral.over_ns += static_cast<int64_t>(static_cast<uint64_t>(over_ns_[last]) -
                                             static_cast<uint64_t>(over_ns_[begin]));
    if (large_[last] != large_[begin]) [[unlikely]] {
      for (size_t i = begin + 1; i <= last; ++i) {
        if (large_[i] != large_[i - 1]) integral.Add(values_[i - 1], times_[i] - times_[i - 1]);
      }
    }
    begin = last;
  }
}

}  // namespace tickstack::aggengine
