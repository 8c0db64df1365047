#include "feed/market/websocket/exchange_times.h"

#include <gtest/gtest.h>

#include "base/time.h"

namespace tickstack::feed::market {
namespace {

TEST(ExchangeTimes, ReadsIsoTimesWithAnyDecimals) {
  const auto format = [](std::string_view text) {
    const std::optional<int64_t> ns = ParseIsoTime(text);
    return ns ? FormatTimestamp(*ns) : "none";
  };
  EXPECT_EQ(format("2021-04-17T16:43:37.075687Z"), "2021.04.17D16:43:37.075687000");
  EXPECT_EQ(format("2021-04-17T16:43:37Z"), "2021.04.17D16:43:37.000000000");
  EXPECT_EQ(format("2021-04-17T16:43:37.5Z"), "2021.04.17D16:43:37.500000000");
  EXPECT_EQ(format("2024-02-29T23:59:59.1234567899Z"), "2024.02.29D23:59:59.123456789");
  EXPECT_EQ(format("1970-01-01T00:00:00Z"), "1970.01.01D00:00:00.000000000");
  for (const char* text :
       {"", "Z", "2021-04-17", "2021-04-17T16:43:37", "2021-04-17 16:43:37Z",
        "2021-04-17T24:43:37Z", "2021-04-17T16:60:37Z", "2021-04-17T16:43:60Z",
        "2021-13-17T16:43:37Z", "2021-04-31T16:43:37Z", "2021-04-17T16:43:37.Z",
        "2021-04-17T16:43:37,5Z", "2021-04-17T16:43:37.5xZ", "2021-04-17T1a:43:37Z",
        "1969-12-31T00:00:00Z", "2200-01-01T00:00:00Z", "2021.04.17T16:43:37Z"}) {
    EXPECT_EQ(format(text), "none") << text;
  }
}

TEST(ExchangeTimes, ReadsNumbersOfUnits) {
  EXPECT_EQ(ParseUnixSeconds("946684801.5"), 1'500'000'000);
  EXPECT_EQ(ParseUnixSeconds("946684800"), 0);
  EXPECT_EQ(ParseUnixSeconds("946684800.0000000019"), 1);
  EXPECT_EQ(ParseUnixUnits("946684800007", 1'000'000), 7'000'000);
  EXPECT_EQ(ParseUnixUnits("946684800000000007", 1), 7);
  EXPECT_EQ(ParseUnixUnits("0", 1), -kUnixNsOfKdbEpoch);
  for (const char* text :
       {"", "-1", "1.", ".5", "1e9", "7258118400", "1618678142.5x", " 1", "99999999999999999999"}) {
    EXPECT_EQ(ParseUnixSeconds(text), std::nullopt) << text;
  }
  for (const char* text : {"", "-1", "1.5", "7258118400000", "x"}) {
    EXPECT_EQ(ParseUnixUnits(text, 1'000'000), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tickstack::feed::market
