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

TEST(DayClock, RollsAtTheRightInstantWhenSummerTimeEnds) {
  const DayClock clock = *DayClock::Create("America/New_York", 0, std::nullopt);
  EXPECT_EQ(clock.NextRollAfter(At(2020, 11, 1, 4)), At(2020, 11, 2, 5));  // A day of 25 hours.
}

TEST(DayClock, BeginsADayAtTheHourOfTheWallOnDaysOfOtherLengths) {
  const DayClock clock = *DayClock::Create("America/Chicago", 17 * kHour, std::nullopt);
  // Summer time begins on Sunday, 8 March 2020: 17:00 is an hour earlier than the day before.
  EXPECT_EQ(clock.NextRollAfter(At(2020, 3, 7, 12)), At(2020, 3, 7, 23));
  EXPECT_EQ(clock.NextRollAfter(At(2020, 3, 8, 12)), At(2020, 3, 8, 22));
  EXPECT_EQ(clock.NextRollAfter(At(2020, 11, 1, 12)), At(2020, 11, 1, 23));
  EXPECT_EQ(clock.DateAt(At(2020, 3, 8, 22) - 1), DaysFromCivil(2020, 3, 7));
  EXPECT_EQ(clock.DateAt(At(2020, 3, 8, 22)), DaysFromCivil(2020, 3, 8));
}

// Goal: dates never decrease, and a roll is the first instant of a later date. Method: every half
// hour of days on which clocks change, in zones where that happens at midnight and where a whole
// day was skipped; days that begin in the hour that occurs twice, or not at all.
TEST(DayClock, DatesAscendAndRollsAreTheirFirstInstants) {
  const struct {
    const char* zone;
    int64_t begin_ns;
  } changes[] = {
      {"America/New_York", At(2020, 3, 7, 0)},   {"America/New_York", At(2020, 10, 31, 0)},
      {"America/Sao_Paulo", At(2018, 11, 3, 0)}, {"Asia/Beirut", At(2020, 3, 28, 0)},
      {"Pacific/Apia", At(2011, 12, 28, 0)},     {"Australia/Lord_Howe", At(2020, 4, 4, 0)}};
  for (const auto& [zone, begin_ns] : changes) {
    for (const int64_t offset_ns :
         {int64_t{0}, kHour / 2, 3 * kHour / 2, 5 * kHour / 2, 17 * kHour, -7 * kHour, kHour + 1}) {
      SCOPED_TRACE(testing::Message() << zone << " " << offset_ns);
      const absl::StatusOr<DayClock> clock = DayClock::Create(zone, offset_ns, std::nullopt);
      ASSERT_TRUE(clock.ok());
      int32_t last = clock->DateAt(begin_ns);
      for (int64_t now = begin_ns; now < begin_ns + 4 * kNsPerDay; now += kHour / 2) {
        const int32_t date = clock->DateAt(now);
        EXPECT_GE(date, last);
        last = date;
        const int64_t roll = clock->NextRollAfter(now);
        EXPECT_GT(roll, now);
        EXPECT_LE(roll, now + kNsPerDay + 2 * kHour);
        EXPECT_EQ(clock->DateAt(roll - 1), date);
        EXPECT_GT(clock->DateAt(roll), date);
      }
    }
  }
}

TEST(DayClock, CountsLeapDaysAndTheEndsOfYears) {
  const DayClock clock = *DayClock::Create("UTC", 0, std::nullopt);
  constexpr const char* kDays[][2] = {{"2019.12.31", "2020.01.01"}, {"2020.12.31", "2021.01.01"},
                                      {"2020.02.28", "2020.02.29"}, {"2020.02.29", "2020.03.01"},
                                      {"2021.02.28", "2021.03.01"}, {"2000.02.29", "2000.03.01"},
                                      {"2100.02.28", "2100.03.01"}};
  for (const auto& [day, next] : kDays) {
    SCOPED_TRACE(day);
    const int64_t roll_ns = clock.NextRollAfter(*ParseDate(day) * kNsPerDay);
    EXPECT_EQ(FormatDate(clock.DateAt(roll_ns - 1)), day);
    EXPECT_EQ(FormatDate(clock.DateAt(roll_ns)), next);
  }
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
