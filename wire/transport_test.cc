#include "wire/transport.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <boost/asio/error.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/byte_buffer.h"
#include "wire/event_loop.h"
#include "wire/simulation.h"
#include "wire/socket_network.h"
#include "wire/tls_for_test.h"
#include "wire/tls_transport.h"

namespace tickstack::wire {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using ErrorCode = Transport::ErrorCode;

constexpr int64_t kNine = 9 * 3600 * kNsPerSecond;

enum class Over {
  kMemory,
  kSockets,
  kTls,
  kPlainBesideTls,  // A listener that takes both.
};

// The contract of Transport, for each network.
class TransportTest : public testing::TestWithParam<Over> {
 protected:
  TransportTest() {
    absl::StatusOr<std::unique_ptr<Listener>> listener =
        loop_->network().Listen(*loop_, {"127.0.0.1", 0, ""});
    EXPECT_TRUE(listener.ok()) << listener.status();
    listener_ = *std::move(listener);
    if (GetParam() != Over::kTls && GetParam() != Over::kPlainBesideTls) return;
    static const TestCertificates certificates;
    EXPECT_TRUE(SetTlsClientOptions({.ca = certificates.ca()}).ok());
    listener_ = MakeTlsListener(
        std::move(listener_),
        TlsServerContext::Load(certificates.Issue("server", "IP:127.0.0.1")).value(),
        GetParam() == Over::kTls ? TlsUse::kRequired : TlsUse::kOptional);
  }
  void Until(const std::function<bool()>& done) { ASSERT_TRUE(loop_->RunUntil(done, 20s)); }
  // For what happens without a callback.
  void Poll(const std::function<bool()>& done) {
    const int64_t end_ns = MonotonicNs() + 20 * kNsPerSecond;
    while (!done()) {
      ASSERT_LT(MonotonicNs(), end_ns);
      loop_->RunReady();
      std::this_thread::yield();
    }
  }
  Address address() const { return {"127.0.0.1", listener_->port(), "", GetParam() == Over::kTls}; }

  void Connect() {
    bool connected = false;
    client_ = *loop_->network().Connect(*loop_, address(), [&](const ErrorCode& error) {
      EXPECT_FALSE(error) << error.message();
      connected = true;
    });
    listener_->AsyncAccept([&](const ErrorCode& error, std::unique_ptr<Transport> accepted) {
      EXPECT_FALSE(error) << error.message();
      server_ = std::move(accepted);
    });
    Until([&] { return connected && server_ != nullptr; });
    if (GetParam() != Over::kTls) return;
    // The server has not always finished the handshake when the client has.
    ErrorCode error;
    EXPECT_EQ(Write(*client_, {"!"}, &error), 1u);
    EXPECT_EQ(Read(*server_), "!");
  }

  // What one read got: the bytes, or the error's message.
  std::string Read(Transport& from) {
    std::array<std::byte, 100> bytes;
    std::optional<std::string> got;
    from.AsyncRead(bytes, [&](const ErrorCode& error, size_t count) {
      got = error ? error.message() : std::string(AsText(std::span(bytes).first(count)));
    });
    EXPECT_FALSE(got.has_value()) << "callbacks come from the loop";
    Until([&] { return got.has_value(); });
    return *got;
  }
  static size_t Write(Transport& to, std::vector<std::string_view> texts, ErrorCode* error) {
    std::vector<std::span<const std::byte>> pieces;
    for (const std::string_view text : texts) pieces.push_back(AsBytes(text));
    return to.TryWrite(pieces, *error);
  }
  static std::string TextOf(const ErrorCode& error) { return error.message(); }

  EventLoop on_sockets_;
  Simulation simulation_{kNine};
  EventLoop* const loop_ = GetParam() == Over::kMemory ? &simulation_.loop() : &on_sockets_;
  std::unique_ptr<Listener> listener_;
  std::unique_ptr<Transport> client_, server_;
};

TEST_P(TransportTest, DeliversPiecesInOrder) {
  Connect();
  ErrorCode error;
  EXPECT_EQ(Write(*client_, {"a", "bc", "", "def"}, &error), 6u);
  EXPECT_FALSE(error);
  Poll([&] { return server_->HasUnread(); });
  EXPECT_EQ(Read(*server_), "abcdef");
  EXPECT_FALSE(server_->HasUnread());
}

TEST_P(TransportTest, TheEndComesBehindTheLastByte) {
  Connect();
  ErrorCode error;
  EXPECT_EQ(Write(*client_, {"last"}, &error), 4u);
  EXPECT_FALSE(server_->PeerHasClosed());
  client_ = nullptr;
  Poll([&] { return server_->PeerHasClosed(); });
  EXPECT_EQ(Read(*server_), "last");
  EXPECT_EQ(Read(*server_), TextOf(asio::error::eof));
}

TEST_P(TransportTest, OneSideMayEndBeforeTheOther) {
  Connect();
  client_->ShutdownSend();
  EXPECT_EQ(Read(*server_), TextOf(asio::error::eof));
  ErrorCode error;
  EXPECT_EQ(Write(*server_, {"answer"}, &error), 6u);
  EXPECT_EQ(Read(*client_), "answer");
}

TEST_P(TransportTest, AFullStreamIsWritableWhenItWasRead) {
  Connect();
  const std::string block(1 << 20, 'x');
  ErrorCode error;
  size_t sent = 0;
  while (!error) sent += Write(*client_, {block}, &error);
  EXPECT_EQ(error, asio::error::would_block);
  bool writable = false;
  client_->AsyncWaitWritable([&](const ErrorCode&) { writable = true; });
  std::vector<std::byte> into(1 << 20);
  size_t got = 0;
  std::function<void()> read = [&] {
    server_->AsyncRead(into, [&](const ErrorCode& failed, size_t bytes) {
      got += bytes;
      if (!failed && got < sent) read();
    });
  };
  read();
  Until([&] { return got == sent && writable; });
  EXPECT_EQ(Write(*client_, {"more"}, &error), 4u);
}

TEST_P(TransportTest, ClosingEndsWhatIsPending) {
  Connect();
  std::array<std::byte, 10> bytes;
  std::vector<std::string> ended;
  const auto note = [&](const ErrorCode& error) { ended.push_back(error.message()); };
  client_->AsyncRead(bytes, [&](const ErrorCode& error, size_t) { note(error); });
  client_->AsyncWaitReadable(note);
  client_->Cancel();
  Until([&] { return ended.size() == 2; });
  EXPECT_TRUE(client_->is_open());
  client_->AsyncRead(bytes, [&](const ErrorCode& error, size_t) { note(error); });
  client_->Close();
  EXPECT_FALSE(client_->is_open());
  Until([&] { return ended.size() == 3; });
  EXPECT_EQ(ended, std::vector(3, TextOf(asio::error::operation_aborted)));
  EXPECT_EQ(Read(*server_), TextOf(asio::error::eof));
  // Nobody will read what is written now.
  ErrorCode error;
  Poll([&] {
    Write(*server_, {"unread"}, &error);
    return error && error != asio::error::would_block;
  });
}

TEST_P(TransportTest, WaitsForBytesWithoutReadingThem) {
  Connect();
  bool readable = false;
  server_->AsyncWaitReadable([&](const ErrorCode& error) { readable = !error; });
  ErrorCode error;
  Write(*client_, {"here"}, &error);
  Until([&] { return readable; });
  EXPECT_EQ(Read(*server_), "here");
}

TEST_P(TransportTest, MovesToAnotherLoopWithItsUnreadBytes) {
  Connect();
  ErrorCode error;
  Write(*client_, {"before"}, &error);
  std::unique_ptr<DetachedTransport> moving = server_->Detach();
  ASSERT_NE(moving, nullptr);
  EXPECT_FALSE(server_->is_open());
  EXPECT_EQ(server_->Detach(), nullptr);
  Write(*client_, {", after"}, &error);
  std::unique_ptr<Transport> moved = moving->Attach(*loop_);
  ASSERT_NE(moved, nullptr);
  std::string got;
  while (got.size() < 13) got += Read(*moved);
  EXPECT_EQ(got, "before, after");
}

TEST_P(TransportTest, NobodyListensAfterTheListenerIsGone) {
  std::string accepted, connected;
  listener_->AsyncAccept(
      [&](const ErrorCode& error, std::unique_ptr<Transport>) { accepted = error.message(); });
  const Address gone = address();
  listener_ = nullptr;
  client_ = *loop_->network().Connect(*loop_, gone,
                                      [&](const ErrorCode& error) { connected = error.message(); });
  Until([&] { return !accepted.empty() && !connected.empty(); });
  EXPECT_EQ(accepted, TextOf(asio::error::operation_aborted));
  EXPECT_EQ(connected, TextOf(asio::error::connection_refused));
}

TEST_P(TransportTest, OneListensAtAnAddress) {
  EXPECT_EQ(loop_->network().Listen(*loop_, address()).status().code(),
            absl::StatusCode::kUnavailable);
}

std::string NameOfOver(const testing::TestParamInfo<Over>& over) {
  switch (over.param) {
    case Over::kMemory:
      return "Memory";
    case Over::kSockets:
      return "Sockets";
    case Over::kTls:
      return "Tls";
    case Over::kPlainBesideTls:
      return "PlainBesideTls";
  }
  return "";
}

INSTANTIATE_TEST_SUITE_P(Networks, TransportTest,
                         testing::Values(Over::kMemory, Over::kSockets, Over::kTls,
                                         Over::kPlainBesideTls),
                         NameOfOver);

class SimulationTest : public testing::Test {
 protected:
  Simulation simulation_{kNine};
  EventLoop& loop_ = simulation_.loop();
};

TEST_F(SimulationTest, TimersAreCalledInTheirOrderAndAtTheirTime) {
  std::vector<std::string> called;
  const auto note = [&](std::string_view name) {
    called.push_back(fmt::format("{} {}", name, (loop_.clock().NowNs() - kNine) / 1'000'000));
  };
  Timer once(loop_), every(loop_), later(loop_);
  every.Every(10ms, [&] { note("every"); }, 5ms);
  once.Once(15ms, [&] { note("once"); });
  later.Once(1h, [&] { note("later"); });
  simulation_.RunFor(30ms);
  EXPECT_EQ(called, (std::vector<std::string>{"every 5", "once 15", "every 15", "every 25"}));
  EXPECT_EQ(loop_.clock().NowNs(), kNine + 30'000'000);
  every.Cancel();
  EXPECT_TRUE(simulation_.RunUntil([&] { return called.back() == "later 3600000"; }, 2h));
}

TEST_F(SimulationTest, ATimerMayEndItselfOrBeginAnew) {
  auto own = std::make_unique<Timer>(loop_);
  own->Every(1ms, [&] { own = nullptr; });
  Timer again(loop_);
  int calls = 0;
  std::function<void()> call = [&] {
    if (++calls < 3) again.Once(1ms, call);
  };
  again.Once(0ms, call);
  simulation_.RunFor(1s);
  EXPECT_EQ(own, nullptr);
  EXPECT_EQ(calls, 3);
}

}  // namespace
}  // namespace tickstack::wire
