// Goal: each option of a listener has its effect on a socket that the process opens itself, and on
// one that it inherits, as processes of `tickstack up` do. Method: a server that counts logins; a
// client connects in each way.

#include "wire/listener_options.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include "base/owned_fd.h"
#include "base/status.h"
#include "wire/authenticator_for_test.h"
#include "wire/client.h"
#include "wire/listen_on.h"

namespace tickstack::wire {
namespace {

using namespace std::chrono_literals;

class CountsLogins final : public ServerHandler {
 public:
  void OnOpened(Connection&) override { ++logins; }
  void OnMessage(Connection&, const ReceivedMessage&) override {}
  void OnClosed(Connection&, const absl::Status&) override {}
  int logins = 0;
};

class NoticesFailure final : public ClientHandler {
 public:
  void OnConnected(Connection&) override {}
  void OnConnectFailed(const absl::Status&, std::chrono::milliseconds) override { failed = true; }
  void OnMessage(Connection&, const ReceivedMessage&) override {}
  void OnClosed(Connection&, const absl::Status&) override {}
  bool failed = false;
};

enum class Socket { kOwn, kInherited };

class ListenerOptionsTest : public testing::TestWithParam<Socket> {
 protected:
  void Listen(ListenerOptions listener) {
    if (GetParam() == Socket::kInherited) {
      absl::StatusOr<OwnedFd> socket = ListenOn("127.0.0.1", 0);
      ASSERT_TRUE(socket.ok()) << socket.status();
      listener.listen_fd = socket->Release();  // The server closes it.
    }
    absl::StatusOr<std::unique_ptr<Server>> server = wire::Listen(loop_, listener, {}, &handler_);
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Returns whether a client can log in there.
  bool Connects(const Address& address) {
    const int before = handler_.logins;
    NoticesFailure notices;
    const Client client(loop_, address, {}, &notices);
    loop_.RunUntil([&] { return notices.failed || handler_.logins > before; }, 10s);
    return handler_.logins > before;
  }

  EventLoop loop_;
  CountsLogins handler_;
  std::unique_ptr<Server> server_;
};

TEST_P(ListenerOptionsTest, AcceptsOnItsPort) {
  Listen({});
  EXPECT_GT(server_->port(), 0);
  EXPECT_TRUE(Connects({"127.0.0.1", server_->port(), ""}));
}

TEST_P(ListenerOptionsTest, AlsoListensOnTheUnixSocketOfItsPort) {
  Listen({.unix_socket = true});
  EXPECT_TRUE(Connects({"", 0, fmt::format("@/tmp/kx.{}", server_->port())}));
}

TEST_P(ListenerOptionsTest, HasNoUnixSocketByDefault) {
  Listen({});
  EXPECT_FALSE(Connects({"", 0, fmt::format("@/tmp/kx.{}", server_->port())}));
}

INSTANTIATE_TEST_SUITE_P(Sockets, ListenerOptionsTest,
                         testing::Values(Socket::kOwn, Socket::kInherited));

TEST(CheckReach, BeyondLoopbackNeedsUsersOrIsSaidToBeInsecure) {
  for (const char* host : {"127.0.0.1", "127.1.2.3", "localhost", "::1"}) {
    EXPECT_TRUE(CheckReach({.host = host}).ok()) << host;
  }
  for (const char* host : {"0.0.0.0", "::", "10.0.0.5", "tick1", "127.evil.example", ""}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(CheckReach({.host = host}))) << host;
    EXPECT_TRUE(CheckReach({.host = host, .insecure = true}).ok()) << host;
    EXPECT_TRUE(
        CheckReach({.host = host, .authenticator = std::make_shared<OneUser>("u", "p")}).ok())
        << host;
  }
}

TEST(CheckReach, OfAnInheritedSocketIsThatOfItsAddress) {
  EventLoop loop;
  CountsLogins handler;
  absl::StatusOr<OwnedFd> everywhere = ListenOn("0.0.0.0", 0);
  ASSERT_TRUE(everywhere.ok()) << everywhere.status();
  const absl::Status refused =
      wire::Listen(loop, {.listen_fd = everywhere->get()}, {}, &handler).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(Message(refused).find("insecure = true"), std::string_view::npos) << refused;
  EXPECT_TRUE(
      wire::Listen(loop, {.listen_fd = everywhere->Release(), .insecure = true}, {}, &handler)
          .ok());
}

TEST(AnswersHttp, ByDefaultOnlyOnThisMachine) {
  EXPECT_TRUE(AnswersHttp({.host = "127.0.0.1"}));
  EXPECT_TRUE(AnswersHttp({.host = "localhost"}));
  EXPECT_FALSE(AnswersHttp({.host = "0.0.0.0"}));
  EXPECT_TRUE(AnswersHttp({.host = "0.0.0.0", .http = true}));
  EXPECT_FALSE(AnswersHttp({.host = "127.0.0.1", .http = false}));
}

TEST(AddressOf, IsOneThatClientsOfThisMachineCanVerify) {
  ListenerOptions listener;
  listener.port = 5010;
  for (const auto& [host, address] : {std::pair("127.0.0.1", "127.0.0.1:5010"),
                                      {"0.0.0.0", "127.0.0.1:5010"},
                                      {"::", "::1:5010"},
                                      {"capture.example", "capture.example:5010"}}) {
    listener.host = host;
    listener.tls = TlsUse::kOptional;
    EXPECT_EQ(AddressOf(listener).ToString(), address);
    listener.tls = TlsUse::kRequired;
    EXPECT_EQ(AddressOf(listener).ToString(), std::string("tcps://") + address);
    EXPECT_EQ(ParseAddress(AddressOf(listener).ToString()).value(), AddressOf(listener));
  }
}

}  // namespace
}  // namespace tickstack::wire
