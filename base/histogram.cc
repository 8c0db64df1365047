#include "base/histogram.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace tickstack {

Histogram::Histogram(int64_t highest, int significant_digits) : highest_(highest) {
  TS_CHECK(highest >= 1 && significant_digits >= 1 && significant_digits <= 5);
  uint64_t resolution = 2;
  for (int digit = 0; digit < significant_digits; ++digit) resolution *= 10;
  sub_bits_ =
      static_cast<int>(std::bit_width(resolution - 1));  // 2000 needs 2^11 counters of width 1.
  sub_mask_ = (uint64_t{1} << sub_bits_) - 1;
  counts_.resize(IndexOf(highest_) + 1);
}

int64_t Histogram::LowestOf(size_t index) const {
  const size_t half = size_t{1} << (sub_bits_ - 1);
  if (index < 2 * half) return static_cast<int64_t>(index);
  const size_t shift = index / half - 1;
  return static_cast<int64_t>((index % half + half) << shift);
}

int64_t Histogram::HighestOf(size_t index) const {
  const size_t half = size_t{1} << (sub_bits_ - 1);
  if (index < 2 * half) return static_cast<int64_t>(index);
  const size_t shift = index / half - 1;
  return LowestOf(index) + static_cast<int64_t>((uint64_t{1} << shift) - 1);
}

void Histogram::Merge(const Histogram& other) {
  if (other.count_ == 0) return;
  const int64_t min = std::min(min_, other.min_), max = std::max(max_, other.max_);
  if (sub_bits_ == other.sub_bits_ && counts_.size() >= other.counts_.size()) {
    for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] += other.counts_[i];
    count_ += other.count_;
  } else {
    for (size_t i = 0; i < other.counts_.size(); ++i) {
      RecordMany(other.LowestOf(i), other.counts_[i]);
    }
  }
  min_ = min;  // Exact, whatever the bounds of the counters are.
  max_ = max;
}

void Histogram::Reset() {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = 0;
  min_ = INT64_MAX;
  max_ = 0;
}

std::vector<std::pair<int64_t, uint64_t>> Histogram::Counters() const {
  std::vector<std::pair<int64_t, uint64_t>> counters;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) counters.emplace_back(std::clamp(HighestOf(i), min_, max_), counts_[i]);
  }
  return counters;
}

double Histogram::Mean() const {
  if (count_ == 0) return 0;
  double sum = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] == 0) continue;
    const double middle =
        (static_cast<double>(LowestOf(i)) + static_cast<double>(HighestOf(i))) / 2;
    sum += middle * static_cast<double>(counts_[i]);
  }
  return sum / static_cast<double>(count_);
}

int64_t Histogram::ValueAtPercentile(double percentile) const {
  if (count_ == 0) return 0;
  const double share = std::clamp(percentile, 0.0, 100.0) / 100;
  // The product of a share such as 0.999 and a count can be slightly above the whole number that is
  // meant, and the ceiling would then be one too high.
  const double exact = share * static_cast<double>(count_);
  const auto wanted =
      std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(exact - exact * 1e-12)));
  if (wanted >= count_) return max_;
  uint64_t seen = 0;
  for (size_t i = 0; i < counts_.size(); ++i) {
    seen += counts_[i];
    if (seen >= wanted) return std::clamp(HighestOf(i), min_, max_);
  }
  return max_;
}

}  // namespace tickstack
