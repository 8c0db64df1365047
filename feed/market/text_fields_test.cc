#include "feed/market/text_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <random>
#include <string>

#include "base/time.h"

namespace tickstack::feed::market {
namespace {

using testing::ElementsAre;

TEST(SplitFields, KeepsEmptyFields) {
  std::vector<std::string_view> fields = {"old"};
  SplitFields("a,,b,", ',', fields);
  EXPECT_THAT(fields, ElementsAre("a", "", "b", ""));
  SplitFields("", ',', fields);
  EXPECT_THAT(fields, ElementsAre(""));
  SplitFields("a,b", '|', fields);
  EXPECT_THAT(fields, ElementsAre("a,b"));
}

TEST(ParseInteger, TakesWholeFieldsOnly) {
  EXPECT_EQ(ParseInteger("-9223372036854775808"), INT64_MIN);
  EXPECT_EQ(ParseInteger("007"), 7);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "0x1", "9223372036854775808"}) {
    EXPECT_EQ(ParseInteger(text), std::nullopt) << text;
  }
}

TEST(ParseDecimal, ReturnsTheNearestFloat) {
  EXPECT_EQ(ParseDecimal("0.1"), 0.1);
  EXPECT_EQ(ParseDecimal("-11657.08"), -11657.08);
  EXPECT_EQ(ParseDecimal("9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(ParseDecimal(".5"), 0.5);
  EXPECT_EQ(ParseDecimal("1e-7"), 1e-7);
  for (const char* text : {"", "-", "+1", " 1", "1 ", "inf", "-inf", "nan", "-nan", "infinity",
                           "1e999", "0x1p3", "1,5", "--1"}) {
    EXPECT_EQ(ParseDecimal(text), std::nullopt) << text;
  }
}

// Goal: short numbers, which are converted in another way, are the same floats, and no other text
// is a number. Method: random texts of digits, points and other characters, beside std::from_chars.
TEST(ParseDecimal, AgreesWithFromChars) {
  std::minstd_rand random(25);
  int numbers = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text;
    for (size_t left = random() % 20; left > 0; --left) {
      const auto drawn = static_cast<size_t>(random());
      text += drawn % 8 == 0 ? ".-e0"[drawn / 8 % 4] : static_cast<char>('0' + drawn / 8 % 10);
    }
    double expected = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), expected);
    const bool is_number = error == std::errc() && end == text.data() + text.size();
    const std::optional<double> found = ParseDecimal(text);
    ASSERT_EQ(found.has_value(), is_number) << text;
    if (is_number)
      ASSERT_EQ(std::bit_cast<uint64_t>(*found), std::bit_cast<uint64_t>(expected)) << text;
    numbers += is_number ? 1 : 0;
  }
  EXPECT_GT(numbers, 20'000);
}

TEST(ParseSecondsNs, RoundsToNanoseconds) {
  EXPECT_EQ(ParseSecondsNs("34200"), 34'200 * kNsPerSecond);
  EXPECT_EQ(ParseSecondsNs("34200.00426064"), 34'200'004'260'640);
  EXPECT_EQ(ParseSecondsNs("0.189607669999"), 189'607'670);
  EXPECT_EQ(ParseSecondsNs("0.0000000005"), 1);
  EXPECT_EQ(ParseSecondsNs("0.00000000049999999999999999"), 0);
  EXPECT_EQ(ParseSecondsNs("0.9999999999"), kNsPerSecond);
  for (const char* text : {"", ".5", "5.", "-1", "1e3", "1.5x", "x", "86401", "1.-5", "1.5.5"}) {
    EXPECT_EQ(ParseSecondsNs(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace tickstack::feed::market
