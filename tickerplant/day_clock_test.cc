#include "tickerplant/day_clock.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace tickstack::tickerplant {
namespace {

constexpr int64_t kHour = 3600 * kNsPerSecond;

int64_t At(int year, int month, int day, int hour, int minute = 0) {
  return int64_t{DaysFromCivil(year, month, day)} * kNsPerDay + hour * kHour +
         minute * 60 * kNsPerSecond;
}

TEST(DayClock, BeginsDaysAtMidnightOfTheZone) {
  const DayClock clock = *DayClock::Create("America/New_York", 0, std::nullopt);
  // 9 March 2020: four hours behind UTC.
  EXPECT_EQ(clock.DateAt(At(2020, 3, 10, 3, 59)), DaysFromCivil(2020, 3, 9));
  EXPECT_EQ(clock.DateAt(At(2020, 3, 10, 4)), DaysFromCivil(2020, 3, 10));
  EXPECT_EQ(clock.NextRollAfter(At(2020, 3, 9, 12)), At(2020, 3, 10, 4));
  EXPECT_EQ(clock.LocalTimespan(At(2020, 3, 9, 14, 30) + 5),
            10 * kHour + 30 * 60 * kNsPerSecond + 5);
}

TEST(DayClock, RollsAtTheRightInstantWhenSummerTimeBegins) {
  const DayClock clock = *DayClock::Create("America/New_York", 0, std::nullopt);
  EXPECT_EQ(clock.NextRollAfter(At(2020, 3, 8, 5)), At(2020, 3, 9, 4));  // A day of 23 hours.
  EXPECT_EQ(clock.NextRollAfter(At(2020, 3, 7, 5)), At(2020, 3, 8, 5));
}

TEST(DayClock, ShiftsTheDayByItsOffset) {
  const DayClock clock = *DayClock::Create("UTC", 17 * kHour, std::nullopt);
  EXPECT_EQ(clock.DateAt(At(2020, 3, 9, 16, 59)), DaysFromCivil(2020, 3, 8));
  EXPECT_EQ(clock.DateAt(At(2020, 3, 9, 17)), DaysFromCivil(2020, 3, 9));
  EXPECT_EQ(clock.NextRollAfter(At(2020, 3, 9, 18)), At(2020, 3, 10, 17));
}

TEST(DayClock, NeverEndsAFixedDay) {
  const DayClock clock = *DayClock::Create("UTC", 0, DaysFromCivil(2013, 10, 7));
  EXPECT_EQ(clock.DateAt(At(2026, 1, 1, 0)), DaysFromCivil(2013, 10, 7));
  EXPECT_EQ(clock.NextRollAfter(At(2026, 1, 1, 0)), INT64_MAX);
}

TEST(DayClock, NamesAZoneThatDoesNotExist) {
  EXPECT_FALSE(DayClock::Create("Mars/Olympus", 0, std::nullopt).ok());
  EXPECT_FALSE(DayClock::Create("UTC", 25 * kHour, std::nullopt).ok());
}

}  // namespace
}  // namespace tickstack::tickerplant
