// Goal: every version of a kernel answers what its definition does, to the bit.
// Method: random items with nulls, NaN, infinities and extremes, of all lengths around the width of
// a vector; the definitions are loops over single items.

#include "query/kernels/number_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace tickstack::query {
namespace {

template <typename T>
T Null() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::quiet_NaN();
  return std::numeric_limits<T>::min();
}

template <typename T>
bool IsNullItem(T item) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(item);
  return std::is_signed_v<T> && item == std::numeric_limits<T>::min();
}

template <typename T>
std::vector<T> RandomItems(size_t n, std::mt19937_64& rng) {
  std::vector<T> items(n);
  const bool wild = rng() % 2 == 0, only_nulls = rng() % 8 == 0;
  for (T& item : items) {
    item = static_cast<T>(static_cast<int64_t>(rng() % 19) - 9);
    if constexpr (std::is_floating_point_v<T>) {
      if (wild) item = static_cast<T>(static_cast<double>(static_cast<int64_t>(rng())) / 3e9);
      if (rng() % 16 == 0) item = std::numeric_limits<T>::infinity();
      if (rng() % 16 == 0) item = -std::numeric_limits<T>::infinity();
      if (rng() % 16 == 0) item = T{-0.0};
    } else {
      if (wild) item = static_cast<T>(rng());
      if (rng() % 16 == 0) item = std::numeric_limits<T>::max();
    }
    if (only_nulls || rng() % 8 == 0) item = Null<T>();
  }
  return items;
}

template <typename T>
T MaxByDefinition(std::span<const T> items, T best) {
  for (T item : items) {
    if (!IsNullItem(item) && item > best) best = item;
  }
  return best;
}

template <typename T>
T MinByDefinition(std::span<const T> items, T best) {
  for (T item : items) {
    if (!IsNullItem(item) && item < best) best = item;
  }
  return best;
}

// Adds item i to lane i % 8, after what the lane has.
template <typename T, typename Sum>
void AddByDefinition(std::span<const T> items, std::array<Sum, kLanes>& sums,
                     std::array<uint64_t, kLanes>& nulls) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (IsNullItem(items[i])) {
      ++nulls[i % kLanes];
    } else {
      sums[i % kLanes] += static_cast<Sum>(items[i]);
    }
  }
}

// Compares all but a zero's sign and a NaN's bits, which are never shown.
template <typename Sum>
void ExpectSame(const std::array<Sum, kLanes>& a, const std::array<Sum, kLanes>& b) {
  for (size_t lane = 0; lane < kLanes; ++lane) {
    if constexpr (std::is_floating_point_v<Sum>) {
      if (std::isnan(a[lane]) && std::isnan(b[lane])) continue;
    }
    ASSERT_EQ(a[lane], b[lane]) << "lane " << lane;
  }
}

template <typename T>
void ExpectByDefinition(const NumberKernels<T>& kernels, std::mt19937_64& rng) {
  const size_t n = rng() % 4 == 0 ? rng() % 1000 : rng() % 70;
  const std::vector<T> all = RandomItems<T>(n + 8, rng);
  // Starts at any alignment.
  const std::span<const T> items = std::span(all).subspan(rng() % 8, n);
  const T best = all[0] == all[0] ? all[0] : T{0};
  ASSERT_EQ(kernels.max(items.data(), n, best), MaxByDefinition(items, best));
  ASSERT_EQ(kernels.min(items.data(), n, best), MinByDefinition(items, best));

  Totals<T> totals, expected;
  // The second part continues the totals of the first.
  for (const size_t part : {n / 3, n - n / 3}) {
    const std::span<const T> half = part == n / 3 ? items.first(part) : items.last(part);
    kernels.add(half.data(), half.size(), totals);
    AddByDefinition(half, expected.sums, expected.nulls);
  }
  kernels.add_as_floats(items.data(), n, totals);
  AddByDefinition(items, expected.float_sums, expected.nulls);
  ExpectSame(totals.sums, expected.sums);
  ExpectSame(totals.float_sums, expected.float_sums);
  ExpectSame(totals.nulls, expected.nulls);

  const Interval<T> interval = {all[1], all[2], rng() % 2 == 0, rng() % 2 == 0};
  const auto first_row = static_cast<uint32_t>(rng() % 1'000'000);
  std::vector<uint32_t> expected_rows, rows(n + kSelectSlack);
  for (uint32_t i = 0; i < n; ++i) {
    bool inside = interval.lo <= items[i] && items[i] <= interval.hi;
    if (std::is_floating_point_v<T> && IsNullItem(items[i])) inside = interval.with_nulls;
    if (inside != interval.negated) expected_rows.push_back(first_row + i);
  }
  rows.resize(kernels.select(items.data(), n, interval, first_row, rows.data()));
  ASSERT_EQ(rows, expected_rows);

  // Adds some items that mostly pass, and then the same items as before.
  std::vector<T> many(rng() % 200, rng() % 2 == 0 ? interval.lo : interval.hi);
  many.insert(many.end(), items.begin(), items.end());
  size_t lead = 0;
  while (lead < many.size() && interval.Contains(many[lead])) ++lead;
  ASSERT_EQ(kernels.lead(many.data(), many.size(), interval), lead);
}

template <typename T>
class NumberKernelsTest : public testing::Test {};
using Numbers = testing::Types<uint8_t, int16_t, int32_t, int64_t, float, double>;
TYPED_TEST_SUITE(NumberKernelsTest, Numbers);

TYPED_TEST(NumberKernelsTest, AgreesWithTheDefinition) {
  for (const KernelVersion<TypeParam>& version : KernelVersions<TypeParam>()) {
    for (uint64_t seed = 0; seed < 2'000; ++seed) {
      SCOPED_TRACE(testing::Message() << version.name << " seed " << seed);
      std::mt19937_64 rng(seed);
      ExpectByDefinition<TypeParam>(*version.kernels, rng);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace tickstack::query
