#include "feed/market/websocket/json_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tickstack::feed::market {
namespace {

using testing::HasSubstr;

TEST(JsonText, IsATreeWhoseNumbersKeepTheirCharacters) {
  JsonText json;
  ASSERT_EQ(
      json.Parse(R"( {"s": "X\u0042T\/\"", "b": [[1.50 , -7e-2], []], "t": true, "n": null} )"),
      "");
  const JsonValue root = json.root();
  EXPECT_TRUE(root.is_object());
  EXPECT_EQ(root.size(), 4u);
  EXPECT_EQ(root["s"].text(), "XBT/\"");
  EXPECT_EQ(root["b"].At(0).At(0).text(), "1.50");
  EXPECT_EQ(root["b"].At(0).At(1).text(), "-7e-2");
  EXPECT_EQ(root["b"].At(1).size(), 0u);
  EXPECT_EQ(root["t"].kind(), JsonKind::kTruth);
  EXPECT_EQ(root["t"].text(), "true");
  EXPECT_EQ(root["n"].kind(), JsonKind::kNull);
  std::string keys;
  for (const JsonValue member : root) keys += member.key();
  EXPECT_EQ(keys, "sbtn");
}

TEST(JsonText, AMissingValueSaysWhichWasAsked) {
  JsonText json;
  ASSERT_EQ(json.Parse("[{\"a\":1}]"), "");
  EXPECT_FALSE(json.root()["a"].exists());
  EXPECT_FALSE(json.root().At(1).exists());
  const JsonValue missing = json.root().At(0)["price"];
  EXPECT_FALSE(missing.exists());
  EXPECT_EQ(missing.key(), "price");
  EXPECT_FALSE(missing["x"].At(3).exists());
  EXPECT_EQ(missing.size(), 0u);
  EXPECT_TRUE(missing.begin() == missing.end());
}

TEST(JsonText, SaysWhyATextIsNone) {
  JsonText json;
  for (const char* text :
       {"",          "  ",         "{",         "[1,2",         "[1,2}",
        "{\"a\" 1}", "{\"a\":1,}", "[,]",       "[1,,2]",       "{:1}",
        "{1:2}",     "[01]",       "[1.]",      "[.5]",         "[-]",
        "[1e]",      "[12abc]",    "[nul]",     "[nulll]",      "[tru]",
        "[\"abc]",   "[\"\xff\"]", "[\"\\q\"]", "[{\"a\":[1]]", "{\"a\":{\"b\":1}",
        "[1 2]"}) {
    EXPECT_THAT(json.Parse(text), HasSubstr("it is no JSON: ")) << text;
    EXPECT_FALSE(json.root().exists()) << text;
  }
  for (const char* text : {"5", "\"a\"", "true", "null"}) {
    EXPECT_THAT(json.Parse(text), HasSubstr("it is neither an object nor an array")) << text;
  }
  for (const char* text : {"{\"a\":1}{}", "{\"a\":1} x", "[1]]", "[1],"}) {
    EXPECT_THAT(json.Parse(text), HasSubstr("it has more behind its end")) << text;
  }
}

TEST(JsonText, ReadsToItsDepthAndNotDeeper) {
  JsonText json;
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(json.Parse(nested(JsonText::kDepthMax)), "");
  EXPECT_EQ(json.Parse(nested(JsonText::kDepthMax + 1)), "it is nested too deep");
  EXPECT_EQ(json.Parse(nested(1'000'000)), "it is nested too deep");
}

TEST(JsonText, ReadsTextsOfEveryLength) {
  JsonText json;
  for (size_t length = 0; length < 300; ++length) {
    const std::string inner(length, 'x');
    ASSERT_EQ(json.Parse("[\"" + inner + "\"]"), "");
    ASSERT_EQ(json.root().At(0).text(), inner);
  }
}

}  // namespace
}  // namespace tickstack::feed::market
