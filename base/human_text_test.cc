#include "base/human_text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace tickstack {
namespace {

TEST(Thousands, SeparatesGroupsOfThreeDigits) {
  EXPECT_EQ(Thousands(0), "0");
  EXPECT_EQ(Thousands(999), "999");
  EXPECT_EQ(Thousands(-999), "-999");
  EXPECT_EQ(Thousands(1'000), "1,000");
  EXPECT_EQ(Thousands(1'234'567), "1,234,567");
  EXPECT_EQ(Thousands(-1'234'567), "-1,234,567");
  EXPECT_EQ(Thousands(INT64_MIN), "-9,223,372,036,854,775,808");
}

TEST(BytesText, HasThreeDigitsAndAUnitThatFits) {
  EXPECT_EQ(BytesText(uint64_t{0}), "0 B");
  EXPECT_EQ(BytesText(46.0), "46 B");
  EXPECT_EQ(BytesText(1013.0), "0.989 KiB");
  EXPECT_EQ(BytesText(uint64_t{1536}), "1.50 KiB");
  EXPECT_EQ(BytesText(171.0 * 0x1p20), "171 MiB");
  EXPECT_EQ(BytesText(0.99 * 0x1p30), "0.990 GiB");
  EXPECT_EQ(BytesText(20 * 0x1p30), "20.0 GiB");
  EXPECT_EQ(BytesText(5'000 * 0x1p40), "5000 TiB");
}

TEST(MsText, HasThreeDigitsAndAUnitThatFits) {
  EXPECT_EQ(MsText(0), "0 ms");
  EXPECT_EQ(MsText(0.0004), "400 ns");
  EXPECT_EQ(MsText(0.4171), "417 us");
  EXPECT_EQ(MsText(0.9999), "1.00 ms");
  EXPECT_EQ(MsText(30), "30.0 ms");
  EXPECT_EQ(MsText(36.5), "36.5 ms");
  EXPECT_EQ(MsText(1'042), "1.04 s");
  EXPECT_EQ(MsText(59'999), "1 min");
  EXPECT_EQ(MsText(285'000), "4 min 45 s");
  EXPECT_EQ(MsText(7'500'000), "2 h 5 min");
  EXPECT_EQ(NsText(12'345'678), "12.3 ms");
}

TEST(EscapeHtml, MakesEntitiesOfWhatHtmlReadsAndKeepsTheRest) {
  EXPECT_EQ(EscapeHtml("<b> & \"x\" 'y'"), "&lt;b&gt; &amp; &quot;x&quot; &#39;y&#39;");
  EXPECT_EQ(EscapeHtml("a\tb\n\xff\xc3\xa9"), "a\tb\n\xff\xc3\xa9");
}

}  // namespace
}  // namespace tickstack
