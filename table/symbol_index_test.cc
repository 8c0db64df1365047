// Goal: searches by coarse times are exact. Method: postings whose times crowd into few coarse
// units, lie beyond both ends of the clock, or are null; compares every count with a scan.

#include "table/symbol_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/check.h"
#include "base/time.h"
#include "table/posting_testing.h"

namespace tickstack {
namespace {

constexpr int64_t kDay = 434'419'200'000'000'000;  // 2013.10.07, midnight.
constexpr int64_t kUnitNs = int64_t{1} << 15;

TEST(PostingTimes, CoarseTimesNeverDecreaseAndSaturate) {
  const PostingTimes times(nullptr, kDay);
  EXPECT_EQ(times.CoarseOf(kNullLong), 0u);
  EXPECT_EQ(times.CoarseOf(kDay - 1), 0u);
  EXPECT_EQ(times.CoarseOf(kDay + kUnitNs - 1), 0u);
  EXPECT_EQ(times.CoarseOf(kDay + kUnitNs), 1u);
  EXPECT_EQ(times.CoarseOf(kDay + kNsPerDay), 2'636'718'750u) << "a day fits";
  EXPECT_EQ(times.CoarseOf(kDay + UINT32_MAX * kUnitNs - 1), UINT32_MAX - 1);
  EXPECT_EQ(times.CoarseOf(kDay + UINT32_MAX * kUnitNs), UINT32_MAX);
  EXPECT_EQ(times.CoarseOf(kInfinityLong), UINT32_MAX);
  for (const int64_t base : {kNullLong + 1, -kDay, int64_t{0}, kDay, PostingTimes::kNoBase}) {
    std::mt19937_64 rng(7);
    std::vector<int64_t> sorted = {kNullLong, kNullLong + 1, base - 1, base, kInfinityLong};
    for (int i = 0; i < 10'000; ++i) sorted.push_back(static_cast<int64_t>(rng() >> rng() % 64));
    std::ranges::sort(sorted);
    uint32_t last = 0;
    for (const int64_t ns : sorted) {
      ASSERT_GE(PostingTimes(nullptr, base).CoarseOf(ns), last) << ns;
      last = PostingTimes(nullptr, base).CoarseOf(ns);
    }
  }
}

TEST(PostingTimes, CountsAreThoseOfAScan) {
  for (uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    std::vector<int64_t> time_ns = TimesForTest(rng, kDay, 100);
    std::ranges::sort(time_ns);
    const PostingsForTest postings(time_ns, kDay);
    for (const int64_t ns : TimesForTest(rng, kDay, 50)) {
      ASSERT_EQ(postings.times().CountBefore(postings.run(), ns),
                std::ranges::count_if(time_ns, [ns](int64_t at) { return at < ns; }));
      ASSERT_EQ(postings.times().CountAtOrBefore(postings.run(), ns),
                std::ranges::count_if(time_ns, [ns](int64_t at) { return at <= ns; }));
    }
  }
}

// An index of one symbol, to which batches are appended.
class OneSymbol {
 public:
  explicit OneSymbol(Type type) : times_(type, ChunkLayout(64), tier_.get()) {}

  void Append(std::vector<int64_t> time_ns) {
    const std::vector<SymbolId> ids(time_ns.size(), 0);
    WriteTimes(times_, time_ns, rows_);
    TS_CHECK(index_.Reserve(ids).ok());
    index_.Append(ids, time_ns.data(), static_cast<uint32_t>(rows_));
    rows_ += time_ns.size();
  }
  Postings Find() const { return index_.Find(0, rows_); }
  std::vector<uint32_t> Coarse() const {
    std::vector<uint32_t> coarse;
    for (const PostingRun& run : Find().runs) {
      coarse.insert(coarse.end(), run.coarse.begin(), run.coarse.end());
    }
    return coarse;
  }
  size_t CountAtOrBefore(int64_t ns) const {
    const Postings postings = Find();
    size_t count = 0;
    for (const PostingRun& run : postings.runs) count += postings.times->CountAtOrBefore(run, ns);
    return count;
  }

 private:
  std::unique_ptr<mem::Tier> tier_ = mem::MakeDramTier("t");
  Column times_;
  SymbolIndex index_{tier_.get(), &times_};
  size_t rows_ = 0;
};

TEST(SymbolIndex, CoarseTimesBeginAtTheMidnightBeforeTheFirstTimestamp) {
  OneSymbol symbol(Type::kTimestamp);
  symbol.Append({kDay + 3 * kNsPerSecond});
  symbol.Append({kDay + 4 * kNsPerSecond, kDay - 1, kDay + 2 * kNsPerDay});
  EXPECT_THAT(symbol.Coarse(), testing::ElementsAre(91'552, 122'070, 0, UINT32_MAX));
  EXPECT_FALSE(symbol.Find().time_sorted);
}

TEST(SymbolIndex, CoarseTimesOfTimespansBeginAtZero) {
  OneSymbol symbol(Type::kTimespan);
  symbol.Append({-1, 0, kUnitNs, kNsPerDay});
  EXPECT_THAT(symbol.Coarse(), testing::ElementsAre(0, 0, 1, 2'636'718'750));
}

TEST(SymbolIndex, NullTimesDoNotChooseTheDay) {
  OneSymbol symbol(Type::kTimestamp);
  symbol.Append({kNullLong});
  symbol.Append({kNullLong, kNullLong});
  EXPECT_EQ(symbol.CountAtOrBefore(kNullLong), 3u);
  EXPECT_EQ(symbol.CountAtOrBefore(kDay), 3u);
  symbol.Append({kNullLong, kDay + kUnitNs, kDay + 2 * kUnitNs});
  EXPECT_THAT(symbol.Coarse(), testing::ElementsAre(0, 0, 0, 0, 1, 2));
  EXPECT_EQ(symbol.CountAtOrBefore(kNullLong), 4u);
  EXPECT_EQ(symbol.CountAtOrBefore(kDay + kUnitNs), 5u);
  EXPECT_TRUE(symbol.Find().time_sorted);
}

TEST(SymbolIndex, AFirstTimeFarFromTheDayOnlyCostsSpeed) {
  for (const int64_t first : {kNullLong + 1, int64_t{-1}, int64_t{0}, kDay, kInfinityLong}) {
    SCOPED_TRACE(first);
    OneSymbol symbol(Type::kTimestamp);
    symbol.Append({first});
    std::vector<int64_t> time_ns = {kDay, kDay + 1, kDay + 1, kDay + kUnitNs, kInfinityLong};
    symbol.Append(time_ns);
    time_ns.insert(time_ns.begin(), first);
    EXPECT_EQ(symbol.Find().time_sorted, std::ranges::is_sorted(time_ns));
    if (!std::ranges::is_sorted(time_ns)) continue;  // Searches need sorted times.
    for (const int64_t ns : {kNullLong, int64_t{-1}, kDay, kDay + 1, kDay + kNsPerDay}) {
      EXPECT_EQ(symbol.CountAtOrBefore(ns), static_cast<size_t>(std::ranges::count_if(
                                                time_ns, [ns](int64_t at) { return at <= ns; })));
    }
  }
}

TEST(SymbolIndex, TimesThatGoDownWithinACoarseUnitAreSeen) {
  OneSymbol symbol(Type::kTimestamp);
  symbol.Append({kDay + 2, kDay + 1});
  EXPECT_THAT(symbol.Coarse(), testing::ElementsAre(0, 0));
  EXPECT_FALSE(symbol.Find().time_sorted);
}

// Goal: the ends are those of the postings, also for old snapshots.
TEST(SymbolIndex, EndsAreThoseOfThePostings) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("t");
    SymbolIndex index(tier.get(), nullptr);
    uint32_t rows = 0;
    for (int batch = 0; batch < 30; ++batch) {
      std::vector<SymbolId> ids(rng() % 60);
      for (SymbolId& id : ids) id = static_cast<SymbolId>(rng() % (1 + rng() % 20)) - 1;
      for (SymbolId& id : ids) id = id < 0 ? kNullSymbol : id;
      ASSERT_TRUE(index.Reserve(ids).ok());
      index.Append(ids, nullptr, rows);
      rows += static_cast<uint32_t>(ids.size());
      for (SymbolId id = -1; id < 25; ++id) {
        const SymbolId symbol = id < 0 ? kNullSymbol : id;
        const size_t end_row = rng() % 2 == 0 ? rows : rng() % (rows + 1);
        const Postings postings = index.Find(symbol, end_row);
        const PostingEnds ends = index.EndsOf(symbol, end_row);
        ASSERT_EQ(ends.rows, postings.rows);
        if (ends.rows == 0) continue;
        ASSERT_EQ(ends.first_row, postings.runs.front().rows.front());
        ASSERT_EQ(ends.last_row, postings.runs.back().rows.back());
      }
    }
  }
}

}  // namespace
}  // namespace tickstack
