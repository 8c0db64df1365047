#include "feed/live/packet_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace tickstack::feed::live {
namespace {

using testing::HasSubstr;

std::string ErrorOf(ReplaySettings settings) {
  settings.path = "/nothing";
  return std::string(Message(PacketReplay::Open(std::move(settings)).status()));
}

TEST(PacketReplayTest, RefusesSettingsThatContradictOneAnother) {
  const UdpLine line = *ParseUdpLine("127.0.0.1:1", "");
  EXPECT_THAT(ErrorOf({}), HasSubstr("--to is missing"));
  ReplaySettings settings;
  settings.to = {line};
  EXPECT_THAT(ErrorOf(settings), HasSubstr("/nothing"));
  settings.lines = {"a", "b"};
  EXPECT_THAT(ErrorOf(settings), HasSubstr("/nothing"));  // Both to the one.
  settings.to = {line, line, line};
  EXPECT_THAT(ErrorOf(settings), HasSubstr("2 of --line and 3 of --to"));
  settings.lines = {};
  settings.speed = 1e7;
  EXPECT_THAT(ErrorOf(settings), HasSubstr("speed"));
  settings.speed = 0;
  settings.sender.ttl = 256;
  EXPECT_THAT(ErrorOf(settings), HasSubstr("ttl 256: expected 0 to 255"));
}

}  // namespace
}  // namespace tickstack::feed::live
