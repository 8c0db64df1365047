#include "base/log_line.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace tickstack {
namespace {

constexpr int64_t kTime = 1'583'764'200'123'456'789;  // 2020-03-09 14:30 UTC.

template <typename... Args>
std::string Line(fmt::format_string<Args...> format, Args&&... args) {
  return JsonLogLine(
      {kTime, "info", "rdb1"},
      std::string_view(fmt::string_view(format).data(), fmt::string_view(format).size()),
      fmt::make_format_args(args...));
}
template <typename... Args>
nlohmann::json Fields(fmt::format_string<Args...> format, Args&&... args) {
  return nlohmann::json::parse(Line(format, std::forward<Args>(args)...));
}

TEST(JsonLogLine, HasTimeLevelProcessEventAndFields) {
  EXPECT_EQ(Line("subscribed host={} seq={}", "tp:5010", 48211),
            R"({"time":"2020-03-09T14:30:00.123456789Z","level":"info","process":"rdb1",)"
            R"("event":"subscribed","host":"tp:5010","seq":48211})");
}

TEST(JsonLogLine, KeepsTheTypesOfArguments) {
  const nlohmann::json line = Fields("a b={} c={} d={} e={} f={} g={:.1f} h={} i={:04} j=12", true,
                                     -5, UINT64_MAX, 0.25, std::string("17"), 99.96, INFINITY, 42);
  EXPECT_EQ(line["b"], true);
  EXPECT_EQ(line["c"], -5);
  EXPECT_EQ(line["d"], UINT64_MAX);
  EXPECT_EQ(line["e"], 0.25);
  EXPECT_EQ(line["f"], "17");  // A string that looks like a number.
  EXPECT_EQ(line["g"], 100.0);
  EXPECT_TRUE(line["g"].is_number());
  EXPECT_EQ(line["h"], "inf");   // JSON has no such number,
  EXPECT_EQ(line["i"], "0042");  // nor one with leading zeros.
  EXPECT_EQ(line["j"], "12");
}

TEST(JsonLogLine, TakesFieldsFromTheFormatOnly) {
  const nlohmann::json line = Fields("refused user={} error=\"{}\"", "a level=error \"x\" b=1",
                                     "no\nsuch {} \x01 user=root");
  EXPECT_EQ(line.size(), 6u) << line;
  EXPECT_EQ(line["user"], "a level=error \"x\" b=1");
  EXPECT_EQ(line["error"], "no\nsuch {} \x01 user=root");
  EXPECT_EQ(Line("refused user={}", "a\nb").find('\n'), std::string::npos);
}

TEST(JsonLogLine, KeepsWordsAndPunctuationInTheEvent) {
  nlohmann::json line =
      Fields("tables {} of {} are lost path={} messages={}: see {{the}} log", "t", 2, "/a:b", 7);
  EXPECT_EQ(line["event"], "tables t of 2 are lost: see {the} log");
  EXPECT_EQ(line["path"], "/a:b");
  EXPECT_EQ(line["messages"], 7);
  line = Fields("slow at=\"{}:{}\" {} text=\"{}{}\" ms={:{}}", "h", 1, "w=3", "select a, b", "...",
                5, 2);
  EXPECT_EQ(line["event"], "slow w=3");
  EXPECT_EQ(line["at"], "h:1");
  EXPECT_EQ(line["text"], "select a, b...");
  EXPECT_EQ(line["ms"], " 5");
  EXPECT_EQ(Fields("")["event"], "");
}

TEST(JsonLogLine, LeavesNoTwoFieldsOfOneName) {
  const std::string line = Line("x level={} seq={} seq={}", 3, 1, 2);
  EXPECT_NE(line.find(R"("level":"info")"), std::string::npos) << line;
  EXPECT_NE(line.find(R"("level_":3,"seq":1,"seq_":2})"), std::string::npos) << line;
}

TEST(JsonLogLine, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(Fields("x path={}", "a\xff")["path"], "a\xef\xbf\xbd");
}

TEST(WordsOfJsonLogLine, HasTheWordsOfItsLevelOnly) {
  const std::string line = JsonLogLine({kTime, "error", "rdb1"}, "log failed error=\"{}\" seq={}",
                                       fmt::make_format_args("disk full", 7));
  EXPECT_EQ(WordsOfJsonLogLine(line, "error"), "log failed error=disk full seq=7");
  EXPECT_EQ(WordsOfJsonLogLine(line, "warn"), "");
  EXPECT_EQ(WordsOfJsonLogLine("{\"time\":\"2020", "error"), "");
  EXPECT_EQ(WordsOfJsonLogLine("{\"time\":1,\"level\":7}", "error"), "");
}

}  // namespace
}  // namespace tickstack
