#include "feed/live/soup_receiver.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>

#include "base/status.h"
#include "feed/live/receiver_group.h"
#include "feed/live/soup_testing.h"
#include "feed/market/big_endian.h"
#include "feed/market/itch/mold_packet.h"

namespace tickstack::feed::live {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr size_t kLoginBytes = 2 + 47;
constexpr int64_t kPauseNsMin = 20'000'000;

bool IsReadable(int fd, int timeout_ms) {
  pollfd watched{.fd = fd, .events = POLLIN, .revents = 0};
  return poll(&watched, 1, timeout_ms) == 1;
}

// A server on a port that the kernel chooses, which a test drives step by step, and the receiver.
class SoupReceiverTest : public testing::Test {
 protected:
  void SetUp() override {
    Listen(0);
    receiver_ = MakeReceiver();
    ASSERT_TRUE(receiver_->Join().ok());
  }

  void Listen(uint16_t port) {
    listener_ = OwnedFd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    constexpr int kOn = 1;
    setsockopt(listener_.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof(kOn));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(bind(listener_.get(), any, sizeof(address)), 0);
    ASSERT_EQ(listen(listener_.get(), 8), 0);
    socklen_t bytes = sizeof(address);
    ASSERT_EQ(getsockname(listener_.get(), any, &bytes), 0);
    server_ = {address.sin_addr, ntohs(address.sin_port)};
  }

  std::unique_ptr<SoupReceiver> MakeReceiver(std::string session = {}) {
    absl::StatusOr<std::unique_ptr<SoupReceiver>> made =
        SoupReceiver::Create(server_,
                             {.user = "me",
                              .password = "secret",
                              .session = std::move(session),
                              .pause_ns_min = kPauseNsMin,
                              .pause_ns_max = 16 * kPauseNsMin},
                             [this] { return positions_; });
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  void Know(std::string session, uint64_t next_seq, int64_t delivered_ns = 1) {
    market::StreamPosition position;
    position.channel = position.session = std::move(session);
    position.next_seq = next_seq;
    position.delivered_ns = delivered_ns;
    positions_.push_back(position);
  }

  // Calls the receiver as an event loop does, until `done`.
  template <typename Done>
  void RunUntil(Done done) {
    const int64_t give_up_ns = MonotonicNs() + 30 * kNsPerSecond;
    while (!done() && MonotonicNs() < give_up_ns) {
      if (!IsReadable(receiver_->fd(), 5)) continue;
      ++rounds_;
      receiver_->Receive([this](size_t, const market::Datagram& datagram, int64_t) {
        const uint64_t seq = market::BigU64(datagram.payload.data() + market::kMoldSessionBytes);
        const uint16_t count = market::BigU16(datagram.payload.data() + market::kMoldHeadBytes - 2);
        events_.push_back(fmt::format("{}+{}", seq, count));
      });
    }
    ASSERT_TRUE(done());
  }

  // Waits for a connection, and returns the fields of its login after the password.
  std::string AcceptLogin() {
    connection_.Reset();
    RunUntil([this] { return IsReadable(listener_.get(), 0); });
    connection_ = OwnedFd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const std::string login = ReadSome(kLoginBytes);
    EXPECT_EQ(login.substr(0, 19), std::string("\0\x2fLme    secret    ", 19));
    const uint64_t seq = ParseSoupNumber(login.substr(29)).value_or(0);
    return fmt::format("{}:{}", TrimSpaces(login.substr(19, 10)), seq);
  }
  std::string ReadSome(size_t bytes) {
    std::string got;
    RunUntil([&] {
      std::array<char, 100> part{};
      const ssize_t n = recv(connection_.get(), part.data(),
                             std::min(part.size(), bytes - got.size()), MSG_DONTWAIT);
      if (n > 0) got.append(part.data(), static_cast<size_t>(n));
      return got.size() == bytes || n == 0;
    });
    return got;
  }
  void Send(std::string_view bytes) {
    ASSERT_EQ(send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void RunUntilEvents(size_t count) {
    RunUntil([this, count] { return events_.size() >= count; });
  }

  OwnedFd listener_, connection_;
  SoupServer server_;
  std::vector<market::StreamPosition> positions_;
  std::unique_ptr<SoupReceiver> receiver_;
  std::vector<std::string> events_;
  int rounds_ = 0;
};

TEST_F(SoupReceiverTest, LogsInAndContinuesAfterTheConnectionIsLost) {
  EXPECT_EQ(AcceptLogin(), ":1");
  Send(SoupAccepted("DAY1", 1) + SoupPacketBytes('S', "a") + SoupPacketBytes('S', "b"));
  RunUntilEvents(2);
  Know("DAY1", 3);
  EXPECT_EQ(AcceptLogin(), "DAY1:3");
  Send(SoupAccepted("DAY1", 3) + SoupPacketBytes('S', "c"));
  RunUntilEvents(4);
  EXPECT_THAT(events_, ElementsAre("1+0", "1+2", "3+0", "3+1"));
  EXPECT_EQ(receiver_->traffic(0).packets, 5);
  EXPECT_EQ(receiver_->traffic(0).bytes, 66 + 3 * 4);
  EXPECT_EQ(receiver_->traffic(0).bad, 0);
  EXPECT_EQ(ReadSome(3), SoupPacketBytes('R'));
  receiver_->Leave();
  EXPECT_EQ(ReadSome(3), SoupPacketBytes('O'));
}

TEST_F(SoupReceiverTest, BeginsWithTheNewestSessionOfTheArbiter) {
  receiver_->Leave();
  Know("DAY1", 30, 1);
  Know("DAY2", 20, 2);
  Know("DAY0", 10, 0);
  ASSERT_TRUE(receiver_->Join().ok());
  EXPECT_EQ(AcceptLogin(), "DAY2:20");
  Send(SoupPacketBytes('J', "S"));  // Over, and forgotten.
  EXPECT_EQ(AcceptLogin(), ":1");
  Send(SoupAccepted("DAY1", 1) + SoupPacketBytes('S', "a"));  // Something of it is known.
  EXPECT_EQ(AcceptLogin(), "DAY1:30");
  EXPECT_TRUE(receiver_->status().ok());
  EXPECT_TRUE(events_.empty());
}

TEST_F(SoupReceiverTest, ASessionThatEndsIsFollowedByTheNext) {
  EXPECT_EQ(AcceptLogin(), ":1");
  Send(SoupAccepted("DAY1", 1) + SoupPacketBytes('S', "a") + SoupPacketBytes('Z'));
  RunUntilEvents(3);
  Know("DAY1", 2);
  EXPECT_EQ(AcceptLogin(), ":1");
  Send(SoupAccepted("DAY1", 1) + SoupPacketBytes('S', "a"));  // The server has no other yet.
  EXPECT_EQ(AcceptLogin(), "DAY1:2");
  Send(SoupAccepted("DAY1", 2) + SoupPacketBytes('S', "b") + SoupPacketBytes('Z'));  // It goes on.
  RunUntilEvents(6);
  EXPECT_EQ(AcceptLogin(), ":1");
  Send(SoupAccepted("DAY2", 1) + SoupPacketBytes('S', "x"));
  RunUntilEvents(8);
  EXPECT_THAT(events_, ElementsAre("1+0", "1+1", "2+65535", "2+0", "2+1", "3+65535", "1+0", "1+1"));
}

TEST_F(SoupReceiverTest, AChosenSessionIsTheOnlyOne) {
  receiver_ = MakeReceiver("DAY3");
  Know("DAY3", 7);
  ASSERT_TRUE(receiver_->Join().ok());
  EXPECT_EQ(AcceptLogin(), "DAY3:7");
  Send(SoupPacketBytes('J', "S"));
  EXPECT_EQ(AcceptLogin(), "DAY3:7");
  Send(SoupAccepted("DAY4", 7));
  EXPECT_EQ(AcceptLogin(), "DAY3:7");
  Send(SoupAccepted("DAY3", 7) + SoupPacketBytes('Z'));
  RunUntilEvents(2);
  EXPECT_FALSE(IsReadable(receiver_->fd(), 200));  // Nothing follows it.
  EXPECT_THAT(events_, ElementsAre("7+0", "7+65535"));
}

TEST_F(SoupReceiverTest, ARefusedUserIsAnError) {
  AcceptLogin();
  Send(SoupPacketBytes('J', "A"));
  RunUntil([this] { return !receiver_->status().ok(); });
  EXPECT_EQ(absl::StatusCode::kPermissionDenied, receiver_->status().code());
  EXPECT_EQ(Message(receiver_->status()),
            fmt::format("soup:127.0.0.1:{}: the server refuses the login of user 'me': not "
                        "authorised",
                        server_.port));
  EXPECT_FALSE(IsReadable(receiver_->fd(), 200));
}

TEST_F(SoupReceiverTest, WrongBytesAreCountedAndEndTheConnection) {
  const std::string wrong[] = {"HTTP/1.1 200 OK\r\n" + std::string(20'000, ' '),
                               std::string(2, '\0'), SoupPacketBytes('S', "a")};
  for (const std::string& bytes : wrong) {
    AcceptLogin();
    Send(bytes);
    RunUntil([this, bad = receiver_->traffic(0).bad] { return receiver_->traffic(0).bad > bad; });
  }
  EXPECT_EQ(AcceptLogin(), ":1");
  EXPECT_EQ(receiver_->traffic(0).bad, 3);
  EXPECT_TRUE(events_.empty());
}

TEST_F(SoupReceiverTest, AServerMayComeLate) {
  listener_.Reset();
  rounds_ = 0;
  const int64_t until_ns = MonotonicNs() + kNsPerSecond;
  RunUntil([&] { return MonotonicNs() >= until_ns; });
  EXPECT_LT(rounds_, 30);  // Pauses grow.
  Listen(server_.port);
  EXPECT_EQ(AcceptLogin(), ":1");
}

TEST_F(SoupReceiverTest, APausedServerWaitsAndLosesNothing) {
  AcceptLogin();
  Send(SoupAccepted("DAY1", 1));
  RunUntilEvents(1);
  receiver_->SetPaused(true);
  Send(SoupPacketBytes('S', "a"));
  rounds_ = 0;
  EXPECT_EQ(ReadSome(3), SoupPacketBytes('R'));  // Its own heartbeats continue.
  EXPECT_LT(rounds_, 10);
  EXPECT_EQ(events_.size(), 1U);
  receiver_->SetPaused(false);
  RunUntilEvents(2);
  EXPECT_THAT(events_, ElementsAre("1+0", "1+1"));
  receiver_->SetPaused(true);
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(connection_.get(), SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  connection_.Reset();  // With an RST, which must not keep the loop busy.
  rounds_ = 0;
  const int64_t until_ns = MonotonicNs() + kNsPerSecond;
  RunUntil([&] { return MonotonicNs() >= until_ns; });
  EXPECT_LT(rounds_, 10);
  Know("DAY1", 2);
  receiver_->SetPaused(false);
  EXPECT_EQ(AcceptLogin(), "DAY1:2");
}

TEST_F(SoupReceiverTest, AGroupHasTheLinesOfAll) {
  std::vector<std::unique_ptr<LineReceiver>> receivers;
  receivers.push_back(MakeReceiver("DAY1"));
  receivers.push_back(MakeReceiver("DAY2"));
  const auto group = ReceiverGroup::Create(std::move(receivers));
  ASSERT_TRUE(group.ok()) << group.status();
  receiver_.reset();
  ASSERT_TRUE((*group)->Join().ok());
  ASSERT_EQ((*group)->lines(), 2U);
  EXPECT_EQ((*group)->LineName(1), fmt::format("soup:127.0.0.1:{}", server_.port));
  std::vector<OwnedFd> connections;
  std::vector<size_t> lines;
  const int64_t give_up_ns = MonotonicNs() + 30 * kNsPerSecond;
  while (lines.size() < 2 && MonotonicNs() < give_up_ns) {
    if (IsReadable((*group)->fd(), 5)) {
      (*group)->Receive(
          [&](size_t line, const market::Datagram&, int64_t) { lines.push_back(line); });
    }
    if (!IsReadable(listener_.get(), 0)) continue;
    connections.emplace_back(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::array<char, kLoginBytes> login{};
    while (recv(connections.back().get(), login.data(), login.size(), MSG_PEEK | MSG_DONTWAIT) <
           static_cast<ssize_t>(login.size())) {
      (*group)->Receive([](size_t, const market::Datagram&, int64_t) {});
    }
    const std::string accepted =
        SoupAccepted(TrimSpaces(std::string_view(login.data() + 19, kSoupSessionBytes)), 1);
    ASSERT_GT(send(connections.back().get(), accepted.data(), accepted.size(), MSG_NOSIGNAL), 0);
  }
  EXPECT_THAT(lines, testing::UnorderedElementsAre(0, 1));
  EXPECT_EQ((*group)->traffic(1).packets, 1);
  EXPECT_TRUE((*group)->status().ok());
}

TEST(SoupServerTest, ReadsAnAddressAndAPort) {
  EXPECT_EQ(ParseSoupServer("soup:10.1.1.1:5000")->ToString(), "soup:10.1.1.1:5000");
  for (const char* const text :
       {"", "soup", "soup:", "10.1.1.1:5000", "soup:10.1.1.1", "soup:10.1.1.1:0", "soup:host:5000",
        "soup:10.1.1.1:5000@lo", "soup:239.1.1.1:5000", "soup://10.1.1.1:5000"}) {
    EXPECT_THAT(Message(ParseSoupServer(text).status()),
                HasSubstr("expected soup:, the IPv4 address of a server and its port"))
        << text;
  }
}

TEST(SoupServerTest, RefusesWhatALoginHasNoRoomFor) {
  const auto check = [](std::string user, std::string password, std::string session) {
    return CheckSoupOptions(
        {.user = std::move(user), .password = std::move(password), .session = std::move(session)});
  };
  EXPECT_TRUE(check("abcdef", "0123456789", "0123456789").ok());
  EXPECT_EQ(Message(check("abcdefg", "x", "")),
            "soup_credentials: a user of 7 and a password of 1 bytes, SoupBinTCP has up to 6 and "
            "10");
  EXPECT_FALSE(check("a", "0123456789x", "").ok());
  EXPECT_THAT(Message(check("a", "b", "0123456789x")), HasSubstr("soup_session: "));
  EXPECT_FALSE(check("a", "b", "AB C").ok());
}

}  // namespace
}  // namespace tickstack::feed::live
