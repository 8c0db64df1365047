// Goal: a successor receives a holder's sockets, or the holder goes on. Method: the holder runs on
// the test's loop, its successor on a second thread.

#include "wire/hand_over.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/owned_fd.h"
#include "base/status.h"
#include "wire/client.h"
#include "wire/listener_options.h"
#include "wire/server.h"

namespace tickstack::wire {
namespace {

using namespace std::chrono_literals;

class AnswersNothing final : public ServerHandler {
 public:
  void OnOpened(Connection&) override { ++logins; }
  void OnMessage(Connection&, const ReceivedMessage&) override {}
  void OnClosed(Connection&, const absl::Status&) override {}
  int logins = 0;
};

class Caller final : public ClientHandler {
 public:
  void OnConnected(Connection&) override { connected = true; }
  void OnConnectFailed(const absl::Status&, std::chrono::milliseconds) override { failed = true; }
  void OnMessage(Connection&, const ReceivedMessage&) override {}
  void OnClosed(Connection&, const absl::Status&) override {}
  bool connected = false, failed = false;
};

class HandOverTest : public testing::Test {
 protected:
  HandOverTest() {
    server_ = *wire::Listen(loop_, {.unix_socket = true}, {}, &handler_);
    hand_over_ = *HandOver::Offer(loop_, server_->port(), "rdb", Calls());
  }
  HandOverCalls Calls() {
    return {.begin = [this](std::string_view request) -> absl::StatusOr<std::string> {
              said_.push_back("begin " + std::string(request));
              if (!begin_.ok()) return begin_;
              return "facts of the holder";
            },
            .release = [this]() -> absl::StatusOr<Released> {
              said_.push_back("release");
              if (waits_ > 0) {
                --waits_;
                return Unavailable("a day is ending");
              }
              if (!release_.ok()) return release_;
              return Released{server_->ReleaseListeners(), "seq 7"};
            },
            .cancelled = [this] { said_.push_back("cancelled"); },
            .done = [this](bool accepts) { said_.push_back(accepts ? "done" : "not done"); }};
  }
  // Runs `successor` on a second thread, and the loop until it has returned and `last` was said.
  void Run(const std::function<void()>& successor, const std::string& last) {
    bool over = false;
    std::thread thread([&] {
      successor();
      loop_.Post([&] { over = true; });
    });
    const auto done = [&] {
      return over && (last.empty() || (!said_.empty() && said_.back() == last));
    };
    EXPECT_TRUE(loop_.RunUntil(done, 20s)) << testing::PrintToString(said_);
    thread.join();
  }
  absl::StatusOr<std::unique_ptr<TakeOver>> Begin(std::string_view role = "rdb") const {
    return TakeOver::Begin(server_->port(), role, "tier");
  }
  // Connects as a successor does, to send other bytes.
  OwnedFd Connect() const {
    OwnedFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    const std::string name = fmt::format("@tickstack/take-over/{}", server_->port());
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data() + 1, name.size() - 1);
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    return socket;
  }

  EventLoop loop_;
  AnswersNothing handler_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<HandOver> hand_over_;
  std::vector<std::string> said_;
  int waits_ = 0;
  absl::Status begin_, release_;
};
using Said = std::vector<std::string>;

TEST_F(HandOverTest, GivesTheSocketsWithTheClientsThatWait) {
  const int port = server_->port();
  std::unique_ptr<TakeOver> taken;
  Run(
      [&] {
        absl::StatusOr<std::unique_ptr<TakeOver>> begun = Begin();
        ASSERT_TRUE(begun.ok()) << begun.status();
        taken = *std::move(begun);
        EXPECT_EQ(taken->facts(), "facts of the holder");
        ListenerOptions listener{.port = port, .unix_socket = true};
        const absl::Status given = taken->AskForSockets(listener);
        ASSERT_TRUE(given.ok()) << given;
        EXPECT_EQ(taken->facts(), "seq 7");
        EXPECT_GE(listener.unix_listen_fd, 0);
        // Nobody accepts at this moment, and nobody is refused.
        EventLoop loop;
        Caller tcp, unix_socket;
        const Client first(loop, {"127.0.0.1", static_cast<uint16_t>(port), ""}, {}, &tcp);
        const Client second(loop, {"", 0, fmt::format("@/tmp/kx.{}", port)}, {}, &unix_socket);
        EXPECT_FALSE(loop.RunUntil([&] { return tcp.connected || tcp.failed; }, 50ms));
        AnswersNothing handler;
        const std::unique_ptr<Server> server = *wire::Listen(loop, listener, {}, &handler);
        EXPECT_EQ(server->port(), port);
        taken->Confirm();
        loop.RunUntil([&] { return tcp.connected && unix_socket.connected; }, 10s);
        EXPECT_TRUE(tcp.connected && unix_socket.connected);
        EXPECT_FALSE(tcp.failed || unix_socket.failed);
        EXPECT_EQ(handler.logins, 2);
        EXPECT_FALSE(taken->HolderHasEnded());
      },
      "done");
  EXPECT_EQ(said_, (Said{"begin tier", "release", "done"}));
  EXPECT_EQ(handler_.logins, 0);
  hand_over_ = nullptr;
  EXPECT_TRUE(taken->HolderHasEnded());
}

TEST_F(HandOverTest, GoesOnIfTheSuccessorEnds) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    said_.clear();
    Run([&] { EXPECT_TRUE(Begin().ok()); }, "cancelled");
    EXPECT_EQ(said_, (Said{"begin tier", "cancelled"}));
  }
  said_.clear();
  Run(
      [&] {
        ListenerOptions listener;
        const auto taken = Begin();
        ASSERT_TRUE(taken.ok());
        EXPECT_TRUE((*taken)->AskForSockets(listener).ok());
        ::close(listener.listen_fd);
      },
      "not done");
  EXPECT_EQ(said_, (Said{"begin tier", "release", "not done"}));
}

TEST_F(HandOverTest, LetsTheSuccessorWait) {
  waits_ = 1;
  Run(
      [&] {
        ListenerOptions listener;
        const auto taken = Begin();
        ASSERT_TRUE(taken.ok());
        const absl::Status waits = (*taken)->AskForSockets(listener);
        EXPECT_TRUE(absl::IsUnavailable(waits)) << waits;
        EXPECT_EQ(Message(waits), "a day is ending");
        EXPECT_TRUE((*taken)->AskForSockets(listener).ok());
        EXPECT_EQ(listener.unix_listen_fd, -1);  // It was not configured here.
        ::close(listener.listen_fd);
      },
      "not done");
}

TEST_F(HandOverTest, RefusesByName) {
  const auto expect_refused = [&](const absl::StatusOr<std::unique_ptr<TakeOver>>& begun,
                                  const std::string& why) {
    ASSERT_TRUE(absl::IsFailedPrecondition(begun.status())) << begun.status();
    EXPECT_EQ(Message(begun.status()), fmt::format("port {}: refused: {}", server_->port(), why));
  };
  Run([&] { expect_refused(Begin("hdb"), "this is the rdb, not the hdb"); }, "");
  EXPECT_EQ(said_, Said{});
  begin_ = FailedPrecondition("no tier");
  Run([&] { expect_refused(Begin(), "no tier"); }, "cancelled");
  begin_ = absl::OkStatus();
  release_ = Internal("no sockets");
  Run(
      [&] {
        ListenerOptions listener;
        const auto taken = Begin();
        ASSERT_TRUE(taken.ok());
        expect_refused(Begin(), "another successor is taking over already");
        EXPECT_EQ(Message((*taken)->AskForSockets(listener)), "refused: no sockets");
      },
      "cancelled");
  EXPECT_TRUE(absl::IsNotFound(TakeOver::Begin(1, "rdb", "tier").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(TakeOver::Begin(0, "rdb", "tier").status()));
}

// The system call, unlike the function, changes the user of one thread.
TEST_F(HandOverTest, IsForProcessesOfTheSameUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  Run(
      [&] {
        ASSERT_EQ(::syscall(SYS_setresuid, -1, 65534, -1), 0);
        const absl::Status refused = Begin().status();
        EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
        EXPECT_NE(Message(refused).find("is of user 0, expected user 65534"), std::string::npos);
        const OwnedFd other = Connect();
        std::string answer(200, '\0');
        const ssize_t bytes = ::recv(other.get(), answer.data(), answer.size(), 0);
        ASSERT_GT(bytes, 0);
        EXPECT_NE(answer.find("is of user 65534, expected user 0"), std::string::npos) << answer;
      },
      "");
  EXPECT_EQ(said_, Said{});
}

// Bytes from the socket, whatever they are, cost a successor its connection and the holder nothing.
TEST_F(HandOverTest, DropsWhatItDoesNotExpect) {
  const std::vector<std::string> texts = {"",
                                          " ",
                                          "begin",
                                          "begin 1",
                                          "begin 2 rdb 1 tier",
                                          "begin 1 hdb 1 tier",
                                          "sockets",
                                          "done",
                                          "x",
                                          std::string(10'000, 'x'),
                                          std::string("\0\xff", 2)};
  for (const std::string& text : texts) {
    SCOPED_TRACE(text.substr(0, 20));
    Run(
        [&] {
          const OwnedFd socket = Connect();
          ASSERT_EQ(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL),
                    static_cast<ssize_t>(text.size()));
          std::string answer(100, '\0');
          ssize_t bytes = 1;
          while (bytes > 0) bytes = ::recv(socket.get(), answer.data(), answer.size(), 0);
        },
        "");
  }
  EXPECT_EQ(said_, Said{});
  said_.clear();
  Run([&] { EXPECT_TRUE(Begin().ok()); }, "cancelled");
}

}  // namespace
}  // namespace tickstack::wire
