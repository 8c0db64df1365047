#include "feed/market/exchange_day.h"

#include <gtest/gtest.h>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::feed::market {
namespace {

constexpr int64_t kHourNs = 3'600 * kNsPerSecond;

TEST(ExchangeDaysTest, ReturnsTheMidnightBeforeATimeAlsoWhenClocksAreSet) {
  absl::StatusOr<ExchangeDays> days = ExchangeDays::Create("America/New_York");
  ASSERT_TRUE(days.ok()) << days.status();
  // Summer time begins on the 10th and ends on 3 November.
  for (const std::string date : {"2024.03.09", "2024.03.10", "2024.03.11", "2024.11.03"}) {
    const int64_t midnight_ns = *MidnightNs(date, "America/New_York");
    const int64_t hours = date == "2024.03.10" ? 23 : date == "2024.11.03" ? 25 : 24;
    EXPECT_EQ(days->MidnightBefore(midnight_ns), midnight_ns) << date;
    EXPECT_EQ(days->MidnightBefore(midnight_ns + hours * kHourNs - 1), midnight_ns) << date;
    EXPECT_EQ(days->MidnightBefore(midnight_ns + hours * kHourNs), midnight_ns + hours * kHourNs);
    EXPECT_LT(days->MidnightBefore(midnight_ns - 1), midnight_ns) << date;
  }
  EXPECT_EQ(ExchangeDays::Create("Nowhere/City").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tickstack::feed::market
