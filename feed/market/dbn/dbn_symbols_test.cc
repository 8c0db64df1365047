#include "feed/market/dbn/dbn_symbols.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/time.h"
#include "table/types.h"

namespace tickstack::feed::market {
namespace {

constexpr int64_t kDay = kNsPerDay;

TEST(DbnSymbols, ASymbolIsThatOfTheDay) {
  DbnSymbols symbols;
  EXPECT_TRUE(symbols.MapDays(7, 2, 3, "B"));
  EXPECT_TRUE(symbols.MapDays(7, 0, 2, "A"));
  symbols.SortDays();
  EXPECT_EQ(symbols.Find(7, 0), "A");
  EXPECT_EQ(symbols.Find(7, 2 * kDay - 1), "A");
  EXPECT_EQ(symbols.Find(7, 2 * kDay), "B");
  EXPECT_EQ(symbols.Find(7, 3 * kDay - 1), "B");
  EXPECT_EQ(symbols.Find(7, 3 * kDay), "7");
  EXPECT_EQ(symbols.Find(7, -1), "7");
  EXPECT_EQ(symbols.Find(7, kNullLong), "7");
  EXPECT_EQ(symbols.Find(4'294'967'295, 0), "4294967295");
}

TEST(DbnSymbols, ARecordPrecedesTheHeaderAndTheHeaderADefinition) {
  DbnSymbols symbols;
  symbols.MapDays(7, 0, 1, "HEADER");
  symbols.SortDays();
  EXPECT_EQ(symbols.Find(7, kDay), "7");
  EXPECT_TRUE(symbols.Define(7, "DEFINED"));
  EXPECT_EQ(symbols.Find(7, kDay), "DEFINED");
  EXPECT_EQ(symbols.Find(7, 0), "HEADER");
  EXPECT_TRUE(symbols.Map(7, "MAPPED"));
  EXPECT_EQ(symbols.Find(7, 0), "MAPPED");
  EXPECT_TRUE(symbols.Map(7, "AGAIN"));
  EXPECT_EQ(symbols.Find(7, kDay), "AGAIN");
}

TEST(DbnSymbols, TakesDaysThatNanosecondsDoNotReach) {
  DbnSymbols symbols;
  symbols.MapDays(7, -3'000'000, 3'000'000, "A");
  symbols.SortDays();
  EXPECT_EQ(symbols.Find(7, -kNsPerDay * 100'000), "A");
  EXPECT_EQ(symbols.Find(7, kNsPerDay * 100'000), "A");
}

// The answer is that of a search through all intervals, whatever was asked before.
TEST(DbnSymbols, AgreesWithASearchThroughAllIntervals) {
  struct Mapping {
    uint32_t instrument;
    int32_t begin, end;
    std::string symbol;
  };
  std::minstd_rand random(1);
  const auto below = [&](uint32_t bound) { return static_cast<int32_t>(random() % bound); };
  for (int run = 0; run < 200; ++run) {
    DbnSymbols symbols;
    std::vector<Mapping> mappings;
    for (int n = below(12); n > 0; --n) {
      const int32_t begin = below(10);
      mappings.push_back(
          {static_cast<uint32_t>(below(2)), begin, begin + below(5), std::to_string(1000 + n)});
      const Mapping& last = mappings.back();
      symbols.MapDays(last.instrument, last.begin, last.end, last.symbol);
    }
    symbols.SortDays();
    for (int ask = 0; ask < 50; ++ask) {
      const auto instrument = static_cast<uint32_t>(below(2));
      const int32_t day = below(16);
      const Mapping* found = nullptr;
      for (const Mapping& each : mappings) {
        if (each.instrument != instrument || each.begin > day) continue;
        if (found == nullptr || each.begin >= found->begin) found = &each;
      }
      const std::string expected =
          found != nullptr && day < found->end ? found->symbol : std::to_string(instrument);
      EXPECT_EQ(symbols.Find(instrument, day * kDay + below(1'000)), expected);
    }
  }
}

}  // namespace
}  // namespace tickstack::feed::market
