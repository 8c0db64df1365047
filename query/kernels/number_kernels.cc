#include "query/kernels/number_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>

#include "base/vector_targets.h"
#include "query/kernels/number_rules.h"

// Highway includes this file once per instruction set, each time with another HWY_NAMESPACE. The
// code between HWY_BEFORE_NAMESPACE and HWY_AFTER_NAMESPACE is compiled for that set: Highway's
// functions, and also plain loops, which the compiler vectorises.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "query/kernels/number_kernels.cc"
#include <hwy/foreach_target.h>  // Before highway.h.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace tickstack::query::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Vectors of extremes that do not wait for each other; extremes do not depend on the order.
constexpr size_t kExtremes = 4;

// Returns the larger one, or the smaller one, lane by lane; `best` if an item is NaN.
template <bool kMax, class V>
HWY_INLINE V Better(V item, V best) {
  if constexpr (std::is_floating_point_v<hn::TFromV<V>>) {
    return hn::IfThenElse(kMax ? hn::Gt(item, best) : hn::Lt(item, best), item, best);
  } else {
    return kMax ? hn::Max(item, best) : hn::Min(item, best);
  }
}

// Returns the largest or smallest of `best` and the items, each less `shift` and wrapped around if
// they are ints. NaN does not count.
template <bool kMax, int kShift, typename T>
HWY_INLINE T Extreme(const T* items, size_t n, T best) {
  const hn::ScalableTag<T> d;
  constexpr size_t kVectorLanes = hn::MaxLanes(d);
  hn::Vec<decltype(d)> bests[kExtremes];
  for (auto& one : bests) one = hn::Set(d, best);
  size_t i = 0;
  for (; i + kExtremes * kVectorLanes <= n; i += kExtremes * kVectorLanes) {
    for (size_t vector = 0; vector < kExtremes; ++vector) {
      auto item = hn::LoadU(d, items + i + vector * kVectorLanes);
      if constexpr (kShift != 0) item = hn::Sub(item, hn::Set(d, T{kShift}));
      bests[vector] = Better<kMax>(item, bests[vector]);
    }
  }
  T lanes[kVectorLanes];
  hn::StoreU(Better<kMax>(Better<kMax>(bests[0], bests[1]), Better<kMax>(bests[2], bests[3])), d,
             lanes);
  for (const T lane : lanes) best = (kMax ? lane > best : lane < best) ? lane : best;
  for (; i < n; ++i) {
    T item = items[i];
    if constexpr (kShift != 0) {
      item = static_cast<T>(static_cast<std::make_unsigned_t<T>>(item) - unsigned{kShift});
    }
    best = (kMax ? item > best : item < best) ? item : best;
  }
  return best;
}

// An integer null is below minus infinity, so it is never the largest.
template <typename T>
T Max(const T* items, size_t n, T best) {
  return Extreme<true, 0>(items, n, best);
}

// An integer null is the smallest there is. Less one it is the largest, since it wraps around.
template <typename T>
T Min(const T* items, size_t n, T best) {
  if constexpr (std::is_floating_point_v<T> || std::is_unsigned_v<T>) {
    return Extreme<false, 0>(items, n, best);
  } else {
    const T least = Extreme<false, 1>(items, n, std::numeric_limits<T>::max());
    if (least == std::numeric_limits<T>::max()) return best;  // Only nulls.
    return std::min(best, static_cast<T>(least + 1));
  }
}

// Adds item by item; the compiler makes vectors of the inner loop.
template <typename Sum, typename T>
void AddLoop(const T* items, size_t n, std::array<Sum, kLanes>& sums,
             std::array<uint64_t, kLanes>& nulls) {
  Sum sum[kLanes];
  uint64_t null[kLanes];
  std::copy_n(sums.data(), kLanes, sum);
  std::copy_n(nulls.data(), kLanes, null);
  const size_t whole = n / kLanes * kLanes;
  for (size_t i = 0; i < whole; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      const T item = items[i + lane];
      sum[lane] += IsNull(item) ? Sum{0} : static_cast<Sum>(item);
      null[lane] += IsNull(item) ? 1 : 0;
    }
  }
  for (size_t i = whole; i < n; ++i) {
    sum[i - whole] += IsNull(items[i]) ? Sum{0} : static_cast<Sum>(items[i]);
    null[i - whole] += IsNull(items[i]) ? 1 : 0;
  }
  std::copy_n(sum, kLanes, sums.data());
  std::copy_n(null, kLanes, nulls.data());
}

template <typename T>
void Add(const T* items, size_t n, Totals<T>& totals) {
  AddLoop(items, n, totals.sums, totals.nulls);
}

// Ints wrap, so their lanes may be added in any order, and two vectors do not wait for each other.
template <>
void Add(const int64_t* items, size_t n, Totals<int64_t>& totals) {
  const hn::CappedTag<int64_t, kLanes> d;
  constexpr size_t kVectorLanes = hn::MaxLanes(d);
  constexpr size_t kVectors = std::max<size_t>(2, kLanes / kVectorLanes);
  constexpr size_t kStep = kVectors * kVectorLanes;
  const auto null = hn::Set(d, std::numeric_limits<int64_t>::min());
  hn::Vec<decltype(d)> sums[kVectors], nulls[kVectors];
  for (size_t vector = 0; vector < kVectors; ++vector) {
    sums[vector] = hn::Zero(d);
    nulls[vector] = hn::Zero(d);
  }
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    for (size_t vector = 0; vector < kVectors; ++vector) {
      const auto item = hn::LoadU(d, items + i + vector * kVectorLanes);
      const auto is_null = hn::Eq(item, null);
      sums[vector] = hn::Add(sums[vector], hn::IfThenZeroElse(is_null, item));
      nulls[vector] = hn::Sub(nulls[vector], hn::VecFromMask(d, is_null));  // A set mask is -1.
    }
  }
  for (size_t vector = 0; vector < kVectors; ++vector) {
    int64_t lane_sums[kVectorLanes], lane_nulls[kVectorLanes];
    hn::StoreU(sums[vector], d, lane_sums);
    hn::StoreU(nulls[vector], d, lane_nulls);
    for (size_t lane = 0; lane < kVectorLanes; ++lane) {
      totals.sums[(vector * kVectorLanes + lane) % kLanes] +=
          static_cast<uint64_t>(lane_sums[lane]);
      totals.nulls[(vector * kVectorLanes + lane) % kLanes] +=
          static_cast<uint64_t>(lane_nulls[lane]);
    }
  }
  AddLoop(items + i, n - i, totals.sums, totals.nulls);
}

template <typename T>
void AddAsFloats(const T* items, size_t n, Totals<T>& totals) {
  AddLoop(items, n, totals.float_sums, totals.nulls);
}

// Returns the flags of a vector; bit i is lane i.
template <class D, class M>
HWY_INLINE uint64_t BitsOf(D d, M mask) {
  uint8_t bytes[8];  // StoreMaskBits demands 8.
  hn::StoreMaskBits(d, mask, bytes);
  constexpr size_t kLanesOfD = hn::MaxLanes(D());
  // Reads just what was written, so that the compiler can leave out the memory.
  using Bits = std::conditional_t<
      kLanesOfD <= 8, uint8_t,
      std::conditional_t<kLanesOfD == 16, uint16_t,
                         std::conditional_t<kLanesOfD == 32, uint32_t, uint64_t>>>;
  Bits bits;
  std::memcpy(&bits, bytes, sizeof(bits));
  return bits;
}

// Tests items for an interval, with two instructions per vector: for ints a subtraction and a
// comparison, for floats two comparisons. kNulls: null floats are to pass.
template <typename T, bool kNulls>
class IntervalTest {
  using D = hn::ScalableTag<T>;
  using Signed = std::conditional_t<std::is_floating_point_v<T>, T, hwy::MakeSigned<T>>;
  using Unsigned = hwy::MakeUnsigned<T>;
  using DSigned = hn::ScalableTag<Signed>;
  static constexpr Unsigned kTopBit = static_cast<Unsigned>(Unsigned{1} << (8 * sizeof(T) - 1));

 public:
  static constexpr size_t kLanesOfVector = hn::MaxLanes(D());

  HWY_INLINE explicit IntervalTest(const Interval<T>& interval) : negated_(interval.negated) {
    if constexpr (std::is_floating_point_v<T>) {
      // NaN as a bound: all but nulls are outside.
      const bool empty = interval.lo != interval.lo || interval.hi != interval.hi;
      lo_ = hn::Set(D(), empty ? PlusInfinity<T>() : interval.lo);
      hi_ = hn::Set(D(), empty ? MinusInfinity<T>() : interval.hi);
      negated_ ^= kNulls;
    } else {
      // lo <= item <= hi is item - lo <= hi - lo without signs. Vectors compare with signs, so both
      // sides have their top bits flipped. An empty interval is all but the full one.
      const bool empty = interval.lo > interval.hi;
      const T lo = empty ? std::numeric_limits<T>::min() : interval.lo;
      const T hi = empty ? std::numeric_limits<T>::max() : interval.hi;
      const auto width =
          static_cast<Unsigned>(static_cast<Unsigned>(hi) - static_cast<Unsigned>(lo));
      lo_ = hn::Set(DSigned(), static_cast<Signed>(static_cast<Unsigned>(lo) ^ kTopBit));
      hi_ = hn::Set(DSigned(), static_cast<Signed>(width ^ kTopBit));
      negated_ ^= !empty;
    }
  }

  // An item passes if its flag differs from negated().
  bool negated() const { return negated_; }
  HWY_INLINE auto Flags(const T* items) const {
    const auto item = hn::LoadU(D(), items);
    if constexpr (!std::is_floating_point_v<T>) {
      return hn::Gt(hn::Sub(hn::BitCast(DSigned(), item), lo_), hi_);
    } else if constexpr (kNulls) {
      return hn::Or(hn::Lt(item, lo_), hn::Gt(item, hi_));  // Both are false for a null.
    } else {
      return hn::And(hn::Ge(item, lo_), hn::Le(item, hi_));
    }
  }
  HWY_INLINE uint64_t FlagBits(const T* items) const { return BitsOf(DSigned(), Flags(items)); }

 private:
  bool negated_;
  hn::Vec<DSigned> lo_, hi_;
};

// Calls f with a test for the interval.
template <typename T, typename F>
HWY_INLINE size_t WithTest(const Interval<T>& interval, const F& f) {
  if constexpr (std::is_floating_point_v<T>) {
    if (interval.with_nulls) return f(IntervalTest<T, true>(interval));
  }
  return f(IntervalTest<T, false>(interval));
}

// Returns how many leading items, in whole steps, have flags that differ from kNegated.
template <bool kNegated, typename Test, typename T>
HWY_INLINE size_t LeadOfSteps(const Test& test, const T* items, size_t n) {
  constexpr size_t kVector = Test::kLanesOfVector;
  constexpr size_t kStep = 4 * kVector;
  const hn::ScalableTag<std::conditional_t<std::is_same_v<T, uint8_t>, int8_t, T>> d;
  size_t i = 0;
  for (; i + kStep <= n; i += kStep) {
    const auto a = test.Flags(items + i), b = test.Flags(items + i + kVector);
    const auto c = test.Flags(items + i + 2 * kVector), e = test.Flags(items + i + 3 * kVector);
    if constexpr (kNegated) {
      if (!hn::AllFalse(d, hn::Or(hn::Or(a, b), hn::Or(c, e)))) break;
    } else {
      if (!hn::AllTrue(d, hn::And(hn::And(a, b), hn::And(c, e)))) break;
    }
  }
  return i;
}

template <typename T>
size_t Lead(const T* items, size_t n, const Interval<T>& interval) {
  size_t i = WithTest(interval, [&](const auto& test) HWY_ATTR {
    return test.negated() ? LeadOfSteps<true>(test, items, n) : LeadOfSteps<false>(test, items, n);
  });
  while (i < n && interval.Contains(items[i])) ++i;
  return i;
}

// Moves the numbers whose flags are set to the front. `flags` has a bit per lane.
#if HWY_TARGET == HWY_AVX3
using RowTag = hn::CappedTag<uint32_t, kSelectSlack>;
HWY_INLINE hn::Vec<RowTag> ToTheFront(hn::Vec<RowTag> numbers, uint64_t flags) {
  uint8_t bits[8];
  std::memcpy(bits, &flags, sizeof(bits));
  return hn::CompressBits(numbers, bits);
}
#else
// Highway's CompressBits has such a table, too, but GCC 12 copies it to the stack in each loop.
constexpr std::array<std::array<uint8_t, 16>, 16> kShuffles = [] {
  std::array<std::array<uint8_t, 16>, 16> shuffles{};
  for (size_t flags = 0; flags < 16; ++flags) {
    size_t at = 0;
    for (size_t row = 0; row < 4; ++row) {
      if ((flags >> row & 1) == 0) continue;
      for (size_t byte = 0; byte < 4; ++byte) {
        shuffles[flags][at++] = static_cast<uint8_t>(4 * row + byte);
      }
    }
  }
  return shuffles;
}();

using RowTag = hn::CappedTag<uint32_t, 4>;
HWY_INLINE hn::Vec<RowTag> ToTheFront(hn::Vec<RowTag> numbers, uint64_t flags) {
  const hn::Repartition<uint8_t, RowTag> bytes;
  const auto shuffle = hn::LoadU(bytes, kShuffles[flags].data());
  return hn::BitCast(RowTag(), hn::TableLookupBytes(hn::BitCast(bytes, numbers), shuffle));
}
#endif

// Writes the numbers of those of the leading items that pass, in whole steps of `tested` items.
template <typename Test, typename T>
HWY_INLINE size_t SelectSteps(const Test& test, const T* items, size_t n, uint32_t first_row,
                              uint32_t* rows, size_t& tested) {
  const RowTag d;
  constexpr size_t kRows = hn::MaxLanes(d);
  constexpr size_t kVector = Test::kLanesOfVector;
  constexpr size_t kStep = std::max(kRows, kVector);
  const uint64_t flip = test.negated() ? ~uint64_t{0} >> (64 - kStep) : 0;
  auto numbers = hn::Iota(d, first_row);
  const auto step = hn::Set(d, static_cast<uint32_t>(kRows));
  size_t count = 0, i = 0;
  for (; i + kStep <= n; i += kStep) {
    uint64_t passing = flip;
    for (size_t at = 0; at < kStep; at += kVector) passing ^= test.FlagBits(items + i + at) << at;
    for (size_t at = 0; at < kStep; at += kRows) {
      const uint64_t flags = passing >> at & ((uint64_t{1} << kRows) - 1);
      // Stores all of the register, because a masked store is slow on some machines.
      hn::StoreU(ToTheFront(numbers, flags), d, rows + count);
      count += static_cast<size_t>(std::popcount(flags));
      numbers = hn::Add(numbers, step);
    }
  }
  tested = i;
  return count;
}

template <typename T>
size_t Select(const T* items, size_t n, const Interval<T>& interval, uint32_t first_row,
              uint32_t* rows) {
  const Interval<T> local = interval;  // A copy, since the interval might alias the rows.
  size_t i = 0;
  size_t count = WithTest(local, [&](const auto& test) HWY_ATTR {
    return SelectSteps(test, items, n, first_row, rows, i);
  });
  // Has no branch: every number is written, and kept by moving on.
  for (; i < n; ++i) {
    rows[count] = first_row + static_cast<uint32_t>(i);
    count += local.Contains(items[i]) ? 1 : 0;
  }
  return count;
}

template <typename T>
constexpr NumberKernels<T> kKernels = {Max<T>, Min<T>, Add<T>, AddAsFloats<T>, Lead<T>, Select<T>};

using AllKernels = std::tuple<const NumberKernels<uint8_t>*, const NumberKernels<int16_t>*,
                              const NumberKernels<int32_t>*, const NumberKernels<int64_t>*,
                              const NumberKernels<float>*, const NumberKernels<double>*>;

AllKernels KernelsOfTarget() {
  return {&kKernels<uint8_t>, &kKernels<int16_t>, &kKernels<int32_t>,
          &kKernels<int64_t>, &kKernels<float>,   &kKernels<double>};
}

}  // namespace
}  // namespace tickstack::query::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

namespace tickstack::query {
namespace {

HWY_EXPORT(KernelsOfTarget);

}  // namespace

namespace internal {

template <typename T>
const NumberKernels<T>& BestKernels() {
  return *std::get<const NumberKernels<T>*>(HWY_DYNAMIC_DISPATCH(KernelsOfTarget)());
}

}  // namespace internal

template <typename T>
std::vector<KernelVersion<T>> KernelVersions() {
  std::vector<KernelVersion<T>> versions;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::ChosenTarget chosen;
    chosen.Update(target);
    const auto& table = HWY_DISPATCH_TABLE(KernelsOfTarget);
    const size_t index = std::size(table) == 1 ? 0 : chosen.GetIndex();
    versions.push_back(
        {hwy::TargetName(target), std::get<const NumberKernels<T>*>(table[index]())});
  }
  return versions;
}

#define TS_INSTANTIATE(T)                                   \
  template const NumberKernels<T>& internal::BestKernels(); \
  template std::vector<KernelVersion<T>> KernelVersions()
TS_INSTANTIATE(uint8_t);
TS_INSTANTIATE(int16_t);
TS_INSTANTIATE(int32_t);
TS_INSTANTIATE(int64_t);
TS_INSTANTIATE(float);
TS_INSTANTIATE(double);
#undef TS_INSTANTIATE

}  // namespace tickstack::query

#endif  // HWY_ONCE
