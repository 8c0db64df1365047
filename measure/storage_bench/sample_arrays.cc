#include "measure/storage_bench/sample_arrays.h"

#include <utility>

namespace tickstack::measure::storage_bench {
namespace {

constexpr uint64_t kSampleSeed = 42;

// Fills the four quarters; the up to three items after them stay as they are.
template <typename T>
void FillQuarters(std::vector<T>& items, T first, T constant, T step) {
  const size_t quarter = items.size() / 4;
  FastRandom random(kSampleSeed);
  for (size_t i = 0; i < quarter; ++i) {
    items[i] = first + static_cast<T>(i);
    items[quarter + i] = constant;
    items[2 * quarter + i] = first + static_cast<T>(i);
    items[3 * quarter + i] = static_cast<T>(random.Below(10)) * step;
  }
  for (size_t i = quarter; i > 1; --i) {
    std::swap(items[2 * quarter + i - 1], items[2 * quarter + random.Below(i)]);
  }
}

}  // namespace

std::vector<int64_t> SampleLongs(size_t n) {
  std::vector<int64_t> items(n, -42);
  FillQuarters<int64_t>(items, 0, 42, 1);
  return items;
}

std::vector<double> SampleFloats(size_t n) {
  std::vector<double> items(n, -1089.3);
  FillQuarters<double>(items, 0.1, 42.2, 10.01);
  return items;
}

std::vector<int64_t> SamplePositions(size_t n, size_t symbols) {
  FastRandom random(kSampleSeed);
  std::vector<int64_t> positions(n);
  for (int64_t& position : positions) position = static_cast<int64_t>(random.Below(symbols));
  return positions;
}

std::vector<size_t> SampleRows(size_t n, size_t rows, uint64_t seed) {
  FastRandom random(seed);
  std::vector<size_t> sample(n);
  for (size_t& row : sample) row = random.Next() % rows;
  return sample;
}

}  // namespace tickstack::measure::storage_bench
