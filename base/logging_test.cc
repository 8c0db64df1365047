#include "base/logging.h"

#include <gtest/gtest.h>

#include <string>

namespace tickstack {
namespace {

// Returns what `write` prints to stderr.
template <typename Write>
std::string Logged(Write write) {
  testing::internal::CaptureStderr();
  write();
  return testing::internal::GetCapturedStderr();
}

TEST(Logging, WritesTimeLevelProcessAndEventOnOneLine) {
  InitLogging("rdb1");
  const std::string line = Logged([] { LogInfo("subscribed host={} seq={}", "tp", 48211); });
  EXPECT_EQ(line.substr(0, 2), "20");
  EXPECT_EQ(line.substr(26), " I rdb1 subscribed host=tp seq=48211\n") << line;
}

TEST(Logging, WithholdsWhatIsBelowTheLevel) {
  InitLogging("rdb1", LogLevel::kWarn);
  EXPECT_EQ(Logged([] { LogInfo("quiet"); }), "");
  EXPECT_NE(Logged([] { LogWarn("loud"); }), "");
  InitLogging("rdb2");  // Another name with the same level.
  EXPECT_EQ(Logged([] { LogInfo("quiet"); }), "");
  InitLogging("rdb1", LogLevel::kOff);
  EXPECT_EQ(Logged([] { LogError("quiet"); }), "");
  InitLogging("rdb1", LogLevel::kInfo);
}

TEST(Logging, WritesJsonAndTextAgain) {
  InitLogging("rdb1");
  SetLogFormat(LogFormat::kJson);
  const std::string json = Logged([] { LogWarn("refused user={} seq={}", "a\n\"b", 7); });
  InitLogging("rdb2");  // Another name in the same format.
  const std::string other = Logged([] { LogInfo("up"); });
  SetLogFormat(LogFormat::kText);
  EXPECT_EQ(json.substr(0, 11), "{\"time\":\"20");
  EXPECT_NE(json.find(R"(Z","level":"warn","process":"rdb1","event":"refused",)"
                      R"("user":"a\n\"b","seq":7})"
                      "\n"),
            std::string::npos)
      << json;
  EXPECT_NE(other.find(R"("level":"info","process":"rdb2","event":"up"})"), std::string::npos);
  EXPECT_EQ(Logged([] { LogInfo("up"); }).substr(26), " I rdb2 up\n");
}

TEST(Logging, KeepsBytesFromOutsideFromForgingALine) {
  const std::string line =
      Logged([] { LogWarn("refused user={}", "a\n2020-03-09 I {} fake\x7f"); });
  EXPECT_NE(line.find("user=a\\x0a2020-03-09 I {} fake\\x7f\n"), std::string::npos) << line;
}

TEST(Logging, KnowsItsLevelsByName) {
  EXPECT_EQ(ParseLogLevel("warn"), LogLevel::kWarn);
  EXPECT_EQ(ParseLogLevel("loud"), std::nullopt);
}

TEST(LogLimit, PassesOnePerIntervalAndCountsTheRest) {
  LogLimit limit(1'000);
  EXPECT_EQ(limit.Pass(0), 0u);
  EXPECT_EQ(limit.Pass(1), std::nullopt);
  EXPECT_EQ(limit.Pass(999), std::nullopt);
  EXPECT_EQ(limit.Pass(1'000), 2u);
  EXPECT_EQ(limit.Pass(5'000), 0u);
}

}  // namespace
}  // namespace tickstack
