#include "feed/live/soup_session.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "feed/live/soup_testing.h"
#include "feed/market/big_endian.h"

namespace tickstack::feed::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A session whose packets are collected as texts: `SESSION 5: abc|de`, a heartbeat as `SESSION 7:`,
// an end as `SESSION 7 end`.
struct Client {
  explicit Client(SoupLogin login = {}, std::map<std::string, uint64_t, std::less<>> known = {})
      : positions(std::move(known)),
        session(
            std::move(login),
            [this](std::string_view name) -> std::optional<uint64_t> {
              const auto found = positions.find(name);
              if (found == positions.end()) return std::nullopt;
              return found->second;
            },
            [this](std::span<const std::byte> payload) { Note(payload); }, 0) {
    sent = session.to_send();
    session.to_send().clear();
  }

  void Note(std::span<const std::byte> payload) {
    const auto name = market::PaddedText(payload.data(), market::kMoldSessionBytes);
    uint64_t seq = market::BigU64(payload.data() + market::kMoldSessionBytes);
    const uint16_t count = market::BigU16(payload.data() + market::kMoldHeadBytes - 2);
    payload = payload.subspan(market::kMoldHeadBytes);
    if (count == market::kMoldEndOfSession) return events.push_back(fmt::format("{} end", seq));
    if (count == 0) events.push_back(fmt::format("{} {}:", name, seq));
    positions[std::string(name)] = std::max(positions[std::string(name)], seq + count);
    for (uint16_t i = 0; i < count; ++i) {
      const uint16_t bytes = market::BigU16(payload.data());
      events.push_back(fmt::format("{} {}", seq++, AsText(payload.subspan(2, bytes))));
      payload = payload.subspan(size_t{2} + bytes);
    }
    ASSERT_TRUE(payload.empty());
  }
  void Put(std::string_view bytes, int64_t now_ns = 0) {
    const std::span<std::byte> room = session.Room();
    ASSERT_GE(room.size(), bytes.size());
    std::ranges::copy(AsBytes(bytes), room.begin());
    session.Take(bytes.size(), now_ns);
  }
  std::string TakeSent() { return std::exchange(session.to_send(), {}); }

  std::map<std::string, uint64_t, std::less<>> positions;
  std::vector<std::string> events;
  std::string sent;
  SoupSession session;
};

TEST(SoupSessionTest, LogsInAndCountsMessages) {
  Client client({"me", "secret", "", 1});
  EXPECT_EQ(client.sent, SoupPacketBytes('L', "me    secret    " + std::string(29, ' ') + "1"));
  client.Put(SoupAccepted("DAY1", 1) + SoupPacketBytes('S', "a") + SoupPacketBytes('H') +
             SoupPacketBytes('S', "b"));
  client.Put(SoupPacketBytes('+', "debug") + SoupPacketBytes('U', "x") + SoupPacketBytes('S', "") +
             SoupPacketBytes('Z'));
  EXPECT_THAT(client.events, ElementsAre("DAY1 1:", "1 a", "2 b", "3 ", "4 end"));
  EXPECT_EQ(client.session.state(), SoupState::kEnded);
  EXPECT_EQ(client.session.next_seq(), 4);
  EXPECT_EQ(client.session.packets(), 8);
  EXPECT_EQ(client.session.messages(), 3);
}

TEST(SoupSessionTest, ContinuesAtTheWantedNumber) {
  Client client({"me", "secret", "DAY1", 70}, {{"DAY1", 70}});
  EXPECT_EQ(client.sent, SoupPacketBytes('L', "me    secret          DAY1                  70"));
  client.Put(SoupAccepted("DAY1", 70) + SoupPacketBytes('S', "a"));
  EXPECT_THAT(client.events, ElementsAre("DAY1 70:", "70 a"));
}

// The heartbeat tells the arbiter that 70 to 79 are missing.
TEST(SoupSessionTest, SaysWhatTheServerHasNoLonger) {
  Client client({"", "", "DAY1", 70}, {{"DAY1", 70}});
  client.Put(SoupAccepted("DAY1", 80));
  EXPECT_THAT(client.events, ElementsAre("DAY1 80:"));
  Client fresh;
  fresh.Put(SoupAccepted("DAY1", 80));
  EXPECT_THAT(fresh.events, ElementsAre("DAY1 1:", "DAY1 80:"));
}

// Number 1 would tell the arbiter that the session starts over.
TEST(SoupSessionTest, LeavesOutNumberOneOfASessionThatIsKnown) {
  Client client({"", "", "DAY1", 70}, {{"DAY1", 70}});
  client.Put(SoupAccepted("DAY1", 1) + SoupPacketBytes('S', "a") + SoupPacketBytes('S', "b"));
  EXPECT_THAT(client.events, ElementsAre("2 b"));
}

TEST(SoupSessionTest, AsksForAnotherSessionByName) {
  Client known({}, {{"DAY1", 70}});
  known.Put(SoupAccepted("DAY1", 1) + SoupPacketBytes('S', "a"));
  EXPECT_EQ(known.session.state(), SoupState::kOtherSession);
  EXPECT_EQ(known.session.session(), "DAY1");
  Client other({"", "", "DAY1", 70}, {{"DAY1", 70}});
  other.Put(SoupAccepted("DAY2", 70) + SoupPacketBytes('S', "a"));
  EXPECT_EQ(other.session.state(), SoupState::kOtherSession);
  EXPECT_EQ(other.session.session(), "DAY2");
  EXPECT_THAT(known.events, IsEmpty());
  EXPECT_THAT(other.events, IsEmpty());
}

TEST(SoupSessionTest, ARejectionHasItsReason) {
  for (const char reason : {'A', 'S', '?'}) {
    Client client;
    client.Put(SoupPacketBytes('J', {&reason, 1}) + SoupPacketBytes('S', "ignored"));
    EXPECT_EQ(client.session.state(), SoupState::kRejected);
    EXPECT_EQ(client.session.reject_reason(), reason);
    EXPECT_THAT(client.events, IsEmpty());
  }
}

TEST(SoupSessionTest, EndsWithWhatDoesNotFit) {
  const std::string in = SoupAccepted("DAY1", 1);
  const std::pair<std::string, std::string> cases[] = {
      {std::string(2, '\0'), "packet 1, before byte 2: no type"},
      {in + SoupPacketBytes('S', "a") + std::string(2, '\0'), "packet 3, before byte 39: no type"},
      {SoupPacketBytes('S', "a"), "packet 1, before byte 4: type 'S' before the login"},
      {SoupPacketBytes('U', "a"), "type 'U' before the login"},
      {SoupPacketBytes('Z'), "type 'Z' before the login"},
      {in + in, "type 'A' after the login"},
      {in + SoupPacketBytes('J', "A"), "type 'J' after the login"},
      {SoupPacketBytes('J', ""), "type 'J' with 0 bytes, expected 1"},
      {SoupPacketBytes('J', "AA"), "type 'J' with 2 bytes, expected 1"},
      {SoupPacketBytes('A', "short"), "type 'A' with 5 bytes, expected 30"},
      {SoupPacketBytes('H', "x"), "type 'H' with 1 bytes, expected 0"},
      {in + SoupPacketBytes('Z', "x"), "type 'Z' with 1 bytes, expected 0"},
      {SoupPacketBytes('L', ""), "unknown type 0x4c"},
      {in + SoupPacketBytes('\xff', "x"), "unknown type 0xff"},
      {"HTTP/1.1 400 Bad Request\r\n" + std::string(18'516, 'x'), "unknown type 0x54"},
      {SoupAccepted("", 1), "a login into session ''"},
      {SoupPacketBytes('A', "\x01\x02       A                   1"),
       "a login into session '\\x01\\x02"},
      {SoupAccepted("DAY1", 0), "a login at message '                   0'"},
      {SoupPacketBytes('A', "      DAY1                  1x"), "a login at message"},
      {SoupAccepted("DAY1", uint64_t{1} << 63), "a login at message"}};
  for (const auto& [bytes, why] : cases) {
    Client client;
    client.Put(bytes);
    client.Put(SoupPacketBytes('S', "ignored"));
    EXPECT_EQ(client.session.state(), SoupState::kBroken) << why;
    EXPECT_THAT(client.session.why(), HasSubstr(why));
    EXPECT_EQ(std::ranges::count(client.events, "1 ignored"), 0);
  }
}

// Goal: what is handed on does not depend on how TCP splits it. Method: one stream of many sizes of
// messages, in pieces of each size, and in random ones.
TEST(SoupSessionTest, CountsTheSameHoweverTheBytesAreSplit) {
  std::mt19937_64 rng(1);
  std::string bytes = SoupAccepted("DAY1", 1);
  std::vector<std::string> expected = {"DAY1 1:"};
  for (int seq = 1; seq <= 400; ++seq) {
    const std::string message(rng() % 60, static_cast<char>('a' + rng() % 26));
    bytes += SoupPacketBytes('S', message);
    if (rng() % 10 == 0) bytes += SoupPacketBytes('H');
    expected.push_back(fmt::format("{} {}", seq, message));
  }
  for (size_t piece = 0; piece < 100; ++piece) {
    SCOPED_TRACE(piece);
    Client client;
    for (size_t at = 0; at < bytes.size();) {
      const size_t taken = std::min(piece != 0 ? piece : 1 + rng() % 200, bytes.size() - at);
      client.Put(std::string_view(bytes).substr(at, taken));
      at += taken;
    }
    ASSERT_EQ(client.events, expected);
  }
}

TEST(SoupSessionTest, HandsOnLargeAndManyMessages) {
  Client client;
  client.Put(SoupAccepted("DAY1", 1));
  const std::string large(UINT16_MAX - 1, 'x');
  for (int i = 0; i < 3; ++i) client.Put(SoupPacketBytes('S', large));
  std::string many;
  for (int i = 0; i < 40'000; ++i) many += SoupPacketBytes('S');
  client.Put(many);
  ASSERT_EQ(client.events.size(), 40'004U);
  EXPECT_EQ(client.events[3], "3 " + large);
  EXPECT_EQ(client.events.back(), "40003 ");
}

TEST(SoupSessionTest, SendsAHeartbeatEachSecondAndNoticesSilence) {
  constexpr int64_t kStep = kNsPerSecond / 4;
  Client client;
  EXPECT_EQ(client.session.deadline_ns(), SoupSession::kSilentNs);
  client.session.OnTime(2 * kNsPerSecond);
  EXPECT_EQ(client.TakeSent(), "");  // Not before the login.
  client.Put(SoupAccepted("DAY1", 1), 2 * kNsPerSecond);
  std::string sent;
  for (int64_t now_ns = 2 * kNsPerSecond; now_ns <= 10 * kNsPerSecond; now_ns += kStep) {
    client.session.OnTime(now_ns);
    sent += client.TakeSent();
  }
  std::string nine;
  for (int i = 0; i < 9; ++i) nine += SoupPacketBytes('R');
  EXPECT_EQ(sent, nine);
  EXPECT_EQ(client.session.deadline_ns(), 11 * kNsPerSecond);
  EXPECT_FALSE(client.session.is_silent(17 * kNsPerSecond - 1));
  EXPECT_TRUE(client.session.is_silent(17 * kNsPerSecond));
  client.Put(SoupPacketBytes('H'), 17 * kNsPerSecond);
  EXPECT_FALSE(client.session.is_silent(17 * kNsPerSecond));
  client.session.OnResumed(40 * kNsPerSecond);
  EXPECT_FALSE(client.session.is_silent(54 * kNsPerSecond));
  client.session.OnTime(50 * kNsPerSecond);
  client.session.OnTime(52 * kNsPerSecond);
  EXPECT_EQ(client.TakeSent(),
            SoupPacketBytes('R'));  // One is enough for a server that does not read.
  client.session.Logout();
  EXPECT_EQ(client.TakeSent(), SoupPacketBytes('O'));
}

}  // namespace
}  // namespace tickstack::feed::live
