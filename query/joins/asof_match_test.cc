// Goal: the kernels find the quote that the definition of an as-of join gives, whatever they skip.
// Method: random short columns; each trade is compared with a search through all quotes.

#include "query/joins/asof_match.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "query/joins/max_age.h"
#include "table/posting_testing.h"

namespace tickstack::query {
namespace {

using Times = std::vector<int64_t>;

constexpr int64_t kBaseNs = 434'419'200'000'000'000;  // A midnight.

Times AscendingTimes(std::mt19937_64& rng, size_t most, int64_t span) {
  Times times(rng() % (most + 1));
  for (int64_t& time : times) time = static_cast<int64_t>(rng() % static_cast<uint64_t>(span));
  std::ranges::sort(times);
  return times;
}

std::vector<uint32_t> Prevailing(const Times& trade_ns, const Times& quote_ns) {
  std::vector<uint32_t> prevailing(trade_ns.size());
  EXPECT_TRUE(AsofMatch(trade_ns, quote_ns, prevailing).ok());
  return prevailing;
}

std::vector<uint32_t> PrevailingByDefinition(const Times& trade_ns, const Times& quote_ns) {
  std::vector<uint32_t> prevailing;
  for (const int64_t now : trade_ns) {
    uint32_t last = kNoRow;
    for (uint32_t i = 0; i < quote_ns.size(); ++i) {
      if (quote_ns[i] <= now) last = i;
    }
    prevailing.push_back(last);
  }
  return prevailing;
}

TEST(AsofMatch, AgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const Times trade_ns = AscendingTimes(rng, 20, 30), quote_ns = AscendingTimes(rng, 40, 30);
    ASSERT_EQ(Prevailing(trade_ns, quote_ns), PrevailingByDefinition(trade_ns, quote_ns));
  }
}

TEST(AsofMatch, AgreesWithTheDefinitionWhereTradesAreSparse) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const Times trade_ns = AscendingTimes(rng, 5, 5'000),
                quote_ns = AscendingTimes(rng, 3'000, 5'000);
    ASSERT_EQ(Prevailing(trade_ns, quote_ns), PrevailingByDefinition(trade_ns, quote_ns));
  }
}

// Goal: coarse times change nothing. Method: trades and quotes in few coarse units, at the borders
// of units, beyond both ends of the clock, null and infinite.
TEST(AsofMatch, OfPostingsAgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    // Few trades on many quotes use the galloping search.
    const size_t most = seed % 50 == 0 ? 3'000 : 100;
    Times trade_ns = TimesForTest(rng, kBaseNs, 30), quote_ns = TimesForTest(rng, kBaseNs, most);
    std::ranges::sort(trade_ns);
    std::ranges::sort(quote_ns);
    const PostingsForTest quotes(quote_ns, kBaseNs);
    std::vector<uint32_t> prevailing(trade_ns.size());
    ASSERT_TRUE(AsofMatch(trade_ns, quotes.run(), quotes.times(), prevailing).ok());
    ASSERT_EQ(prevailing, PrevailingByDefinition(trade_ns, quote_ns));
  }
}

// Goal: the same holds for trades from postings, on the quotes' clock and on another day's.
TEST(AsofMatch, OfTwoPostingsAgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    // Includes more than a block of trades, and few trades on many quotes, which gallop.
    const size_t trades_most = seed % 50 == 0 ? 3'000 : 30;
    const size_t quotes_most = seed % 50 == 1 ? 3'000 : 100;
    Times trade_ns = TimesForTest(rng, kBaseNs, trades_most),
          quote_ns = TimesForTest(rng, kBaseNs, quotes_most);
    std::ranges::sort(trade_ns);
    std::ranges::sort(quote_ns);
    const PostingsForTest quotes(quote_ns, kBaseNs);
    const std::vector<uint32_t> expected = PrevailingByDefinition(trade_ns, quote_ns);
    for (const int64_t base_ns : {kBaseNs, kBaseNs - 86'400'000'000'000, int64_t{0}}) {
      const PostingsForTest trades(trade_ns, base_ns);
      std::vector<uint32_t> prevailing(trade_ns.size());
      ASSERT_TRUE(
          AsofMatch(trades.run(), trades.times(), quotes.run(), quotes.times(), prevailing).ok());
      ASSERT_EQ(prevailing, expected) << base_ns;
    }
  }
}

// Goal: coarse times give the right ages. Method: ages around the distance of two times.
TEST(MaxAge, OfPostingsAgreesWithTheExactTimes) {
  size_t limited = 0;
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    Times times = TimesForTest(rng, kBaseNs, 12);
    std::ranges::sort(times);
    const PostingsForTest postings(times, kBaseNs), others(times, kBaseNs - 86'400'000'000'000);
    for (size_t i = 0; i < times.size(); ++i) {
      for (size_t j = 0; j <= i; ++j) {
        const auto apart = static_cast<uint64_t>(times[i]) - static_cast<uint64_t>(times[j]);
        if (apart > uint64_t{1} << 62) continue;
        const int64_t around = static_cast<int64_t>(apart) + static_cast<int64_t>(rng() % 3) - 1;
        for (const int64_t most :
             {around, int64_t{1} << 15, static_cast<int64_t>(rng() % 300'000)}) {
          if (most < 0) continue;
          const MaxAge bound = *MaxAge::Of(Value::Timespan(most), Type::kTimestamp);
          const bool expected =
              times[j] == kNullLong ? times[i] == kNullLong : apart <= static_cast<uint64_t>(most);
          ASSERT_EQ(bound.Admits(times[i], times[j]), expected);
          for (const PostingsForTest* now : {&postings, &others}) {
            ASSERT_EQ(
                bound.Admits(now->run(), i, now->times(), postings.run(), j, postings.times()),
                expected);
          }
          ++limited;
        }
      }
    }
  }
  EXPECT_GT(limited, 10'000u);
}

TEST(AsofMatch, TakesNullsAndInfinitiesAsTimes) {
  EXPECT_EQ(Prevailing({kNullLong, 0, kInfinityLong}, {kNullLong, kInfinityLong}),
            (std::vector<uint32_t>{0, 0, 1}));
}

TEST(AsofMatch, RefusesResultsOfAnotherCount) {
  std::vector<uint32_t> prevailing = {7};
  EXPECT_FALSE(AsofMatch({}, {}, prevailing).ok());
  EXPECT_EQ(prevailing[0], 7u);
}

}  // namespace
}  // namespace tickstack::query
