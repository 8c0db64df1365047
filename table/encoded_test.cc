#include "table/encoded.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"

namespace tickstack {
namespace {

using std::string_view_literals::operator""sv;

std::vector<std::string_view> Samples() {
  return {
      "\xf9\x01\x00\x00\x00\x00\x00\x00\x00"sv,      // The long 1.
      "\xff\x01"sv,                                  // 1b
      "\xf5IBM\0"sv,                                 // `IBM
      "\x80type\0"sv,                                // 'type
      "\x0a\x00\x05\x00\x00\x00hello"sv,             // "hello"
      "\x0a\x00\x00\x00\x00\x00"sv,                  // ""
      "\x07\x00\x02\x00\x00\x00 1234567 1234567"sv,  // Two longs.
      "\x0b\x00\x02\x00\x00\x00"
      "a\0bc\0"sv,                   // `a`bc
      "\x00\x00\x00\x00\x00\x00"sv,  // ()
      "\x00\x00\x02\x00\x00\x00\xf5"
      "a\0\x00\x00\x01\x00\x00\x00\xf6x"sv,  // (`a;enlist "x")
      "\x62\x00\x63\x0b\x00\x01\x00\x00\x00"
      "c\0\x00\x00\x01\x00\x00\x00\x04\x00\x01\x00\x00\x00\x07"sv,  // ([]c:enlist 0x07)
      "\x64\0\x0a\x00\x03\x00\x00\x00{x}"sv,                        // {x}
      "\x65\x00"sv,                                                 // ::
      "\x68\x02\x00\x00\x00\x66\x01\xf6y"sv,                        // A projection.
      "\x6a\x66\x01"sv,                                             // +/
  };
}

TEST(EncodedBytes, FindsTheEndOfEveryKindOfValue) {
  for (const std::string_view sample : Samples()) {
    SCOPED_TRACE(testing::PrintToString(sample));
    const std::string followed = std::string(sample) + "rest";
    EXPECT_EQ(EncodedBytes(AsBytes(followed)), sample.size());
  }
}

TEST(EncodedBytes, SaysWhenTheBytesEndBeforeTheValue) {
  for (const std::string_view sample : Samples()) {
    for (size_t cut = 0; cut < sample.size(); ++cut) {
      SCOPED_TRACE(testing::PrintToString(sample.substr(0, cut)));
      EXPECT_EQ(EncodedBytes(AsBytes(sample.substr(0, cut))), std::nullopt);
    }
  }
}

TEST(EncodedBytes, RefusesUnknownTypesAndNegativeCounts) {
  for (const std::string_view bad : {"\x03\x00\x00\x00\x00\x00"sv, "\x14\x00\x00\x00\x00\x00"sv,
                                     "\xfd\x00"sv, "\x70\x00"sv, "\x00\x00\xff\xff\xff\xff"sv}) {
    EXPECT_EQ(EncodedBytes(AsBytes(bad)), std::nullopt);
  }
}

TEST(EncodedBytes, WalksAMillionNestedListsWithoutAStack) {
  std::string nested;
  for (int i = 0; i < 1'000'000; ++i) nested += "\x00\x00\x01\x00\x00\x00"sv;
  EXPECT_EQ(EncodedBytes(AsBytes(nested)), std::nullopt);
  nested += "\xf6x"sv;
  EXPECT_EQ(EncodedBytes(AsBytes(nested)), nested.size());
}

}  // namespace
}  // namespace tickstack
