#include "tickerplant/batch_clock.h"

#include <gtest/gtest.h>

namespace tickstack::tickerplant {
namespace {

TEST(BatchClock, CountsFromItsBeginWithoutAPhase) {
  const BatchClock clock(50, std::nullopt, 1007);
  EXPECT_EQ(clock.NextAfter(1007), 1057);
  EXPECT_EQ(clock.NextAfter(1056), 1057);
  EXPECT_EQ(clock.NextAfter(1057), 1107);
}

TEST(BatchClock, KeepsItsPhaseWheneverItBegins) {
  const BatchClock clock(50, 10, 1007);
  EXPECT_EQ(clock.NextAfter(1007), 1010);
  EXPECT_EQ(clock.NextAfter(1010), 1060);
  // A phase beyond the interval is reduced to it, and there are batches before the clock's zero,
  // too.
  EXPECT_EQ(BatchClock(50, 110, 0).NextAfter(0), 10);
  EXPECT_EQ(clock.NextAfter(-1), 10);
  EXPECT_EQ(clock.NextAfter(-41), -40);
}

TEST(BatchClock, AtOnceIsNow) { EXPECT_EQ(BatchClock(0, 7, 1007).NextAfter(1011), 1011); }

}  // namespace
}  // namespace tickstack::tickerplant
