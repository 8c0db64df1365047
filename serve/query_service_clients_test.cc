// What clients may do to a query service and to each other: leave, not read, ask too much.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/status.h"
#include "query/testing.h"
#include "serve/query_counters.h"
#include "serve/query_service.h"
#include "wire/client.h"
#include "wire/codec.h"
#include "wire/socket_address.h"

namespace tickstack::serve {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A blocking client that does what the test says, and reads only when told to.
class RawClient {
 public:
  explicit RawClient(const wire::Address& address) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const wire::SocketAddress to = *wire::ToSocketAddress(address);
    const int small = 64 << 10;  // Little of an answer fits into the socket's buffers.
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    EXPECT_EQ(::connect(socket_, to.get(), to.size()), 0);
    Send(AsBytes(std::string_view("u:p\x06\0", 5)));
    std::byte capability{};
    EXPECT_TRUE(Receive({&capability, 1}));
  }
  ~RawClient() { Leave(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void Leave() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }
  void Send(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      ASSERT_GT(sent, 0);
      bytes = bytes.subspan(static_cast<size_t>(sent));
    }
  }
  void Ask(std::string_view text) {
    Send(wire::EncodeMessage(wire::MessageKind::kSync, Value::String(text)));
  }
  // Returns false if the service closed before that.
  bool Receive(std::span<std::byte> into) {
    while (!into.empty()) {
      const ssize_t got = ::recv(socket_, into.data(), into.size(), 0);
      if (got <= 0) return false;
      into = into.subspan(static_cast<size_t>(got));
    }
    return true;
  }
  // Returns nullopt if the service closed before the answer's end.
  std::optional<Value> Answer() {
    std::byte head[wire::kHeaderBytes];
    if (!Receive(head)) return std::nullopt;
    ByteBuffer body;
    body.resize(static_cast<size_t>(wire::ParseHeader(head)->total_bytes) - wire::kHeaderBytes);
    if (!Receive(body.span())) return std::nullopt;
    return *wire::Decode(body);
  }

 private:
  int socket_;
};

class QueryServiceClientsTest : public testing::Test {
 protected:
  void Start(const QueryServiceOptions& options = {}) {
    absl::StatusOr<std::unique_ptr<QueryService>> started =
        QueryService::Start(options, &environment_, &counters_);
    ASSERT_TRUE(started.ok()) << started.status();
    service_ = *std::move(started);
    address_ = {"127.0.0.1", service_->port(), ""};
  }
  absl::StatusOr<Value> Ask(std::string_view text) {
    return wire::Ask(address_, Value::String(text), 20s);
  }
  const QueryCounters& counters() { return counters_; }
  static void Until(const std::function<bool()>& done) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!done() && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(1ms);
    ASSERT_TRUE(done());
  }
  // Returns options for LongQuery, whose steps build 48 GB in all.
  static QueryServiceOptions MuchMayBeBuilt() {
    QueryServiceOptions options;
    options.max_result_bytes = size_t{1} << 40;
    return options;
  }
  // Returns a query that works many seconds in steps of less than a ms.
  static std::string LongQuery() {
    std::string text;
    for (int i = 0; i < 60'000; ++i) text += "sum til 100000;";
    return text;
  }
  static constexpr std::string_view kEightMegabytes = "til 1000000";

  query::TestEnvironment environment_;
  QueryCounters counters_;
  wire::Address address_;
  std::unique_ptr<QueryService> service_;
};

TEST_F(QueryServiceClientsTest, LeavingStopsWhatRunsAndDropsWhatWaits) {
  Start(MuchMayBeBuilt());
  auto client = std::make_unique<RawClient>(address_);
  client->Ask(LongQuery());
  client->Ask("1+1");
  client->Ask("2+2");
  Until([&] { return counters().running == 1 && counters().waiting == 2; });
  client = nullptr;
  Until([&] { return counters().cancelled == 3; });
  Until([&] { return counters().running == 0; });
  EXPECT_EQ(counters().waiting, 0u);
  EXPECT_EQ(counters().stopped, 0u);
  EXPECT_EQ(counters().failed, 0u);
  EXPECT_EQ(counters().clients, 0u);
  EXPECT_EQ(Ask("1+1")->as<int64_t>(), 2);
}

// Goal: programs that watch a process do not count one another, nor themselves. Method: questions
// about the process wait beside a query; the client then leaves.
TEST_F(QueryServiceClientsTest, QuestionsAboutTheProcessAreNotCountedAsWaiting) {
  Start(MuchMayBeBuilt());
  auto client = std::make_unique<RawClient>(address_);
  client->Ask(LongQuery());
  for (const char* const question : {".t.counts[]", ".t.counts", ".rdb.latency[]"}) {
    client->Ask(question);
  }
  for (const char* const query : {".t.f[5]", "t.f[]", "count .t.counts[]", "[]", ""}) {
    client->Ask(query);
  }
  Until([&] { return counters().running == 1 && counters().queries == 9; });
  EXPECT_EQ(counters().waiting, 5u);
  client = nullptr;
  Until([&] { return counters().cancelled == 9; });
  Until([&] { return counters().running == 0; });
  EXPECT_EQ(counters().waiting, 0u);
}

// Goal: a client that leaves is seen even while the service does not read from it because it sent
// too many requests, and thus does not see the stream's end.
TEST_F(QueryServiceClientsTest, LeavingIsSeenWhileAClientIsNotReadFrom) {
  Start(MuchMayBeBuilt());
  auto client = std::make_unique<RawClient>(address_);
  client->Ask(LongQuery());
  for (int i = 0; i < 200; ++i) client->Ask("1+1");
  Until([&] { return counters().running == 1 && counters().waiting == 63; });
  client = nullptr;
  Until([&] { return counters().cancelled == 64; });
  Until([&] { return counters().running == 0; });
}

TEST_F(QueryServiceClientsTest, TheTimeLimitIsCountedApartFromLeaving) {
  QueryServiceOptions options = MuchMayBeBuilt();
  options.timeout_ns = 20'000'000;
  Start(options);
  EXPECT_EQ(Message(Ask(LongQuery()).status()), "stop");
  EXPECT_EQ(counters().stopped, 1u);
  EXPECT_EQ(counters().cancelled, 0u);
  EXPECT_EQ(counters().failed, 0u);
}

TEST_F(QueryServiceClientsTest, OneThatAsksForMuchDoesNotHoldUpAnother) {
  QueryServiceOptions options = MuchMayBeBuilt();
  options.threads = 2;
  Start(options);
  RawClient greedy(address_);
  for (int i = 0; i < 10; ++i) greedy.Ask(LongQuery());
  Until([&] { return counters().running == 1; });
  // The other thread serves everybody else.
  for (int64_t i = 0; i < 20; ++i) EXPECT_EQ(Ask(std::to_string(i) + "+0")->as<int64_t>(), i);
  EXPECT_EQ(counters().running, 1u);
}

TEST_F(QueryServiceClientsTest, ARequestThatIsTooLargeGetsAnErrorInItsTurn) {
  Start();
  RawClient client(address_);
  client.Ask("1+1");
  std::thread sender([&] {
    client.Ask(std::string(size_t{17} << 20, ' '));
    client.Ask("2+2");
  });
  EXPECT_EQ(client.Answer()->as<int64_t>(), 2);
  const std::optional<Value> refused = client.Answer();
  sender.join();
  ASSERT_TRUE(refused.has_value() && refused->is_error());
  EXPECT_EQ(refused->text(), "limit: request of 17825806 bytes, at most 16777216");
  EXPECT_EQ(client.Answer()->as<int64_t>(), 4);
  EXPECT_EQ(counters().failed, 1u);
}

TEST_F(QueryServiceClientsTest, AnAnswerLeavesWholeHoweverSlowlyItIsRead) {
  Start();
  RawClient client(address_);
  for (int i = 0; i < 3; ++i) client.Ask(kEightMegabytes);
  client.Ask("1+1");
  // The service makes the first answer, and no more until that was read.
  Until([&] { return counters().waiting == 3 && counters().running == 0; });
  EXPECT_EQ(counters().unread_bytes, 8'000'014u);
  for (int i = 0; i < 3; ++i) {
    const std::optional<Value> answer = client.Answer();
    ASSERT_TRUE(answer.has_value() && answer->count() == 1'000'000);
    EXPECT_EQ(answer->span<int64_t>()[999'999], 999'999);
  }
  EXPECT_EQ(client.Answer()->as<int64_t>(), 2);
  Until([&] { return counters().unread_bytes == 0; });
}

TEST_F(QueryServiceClientsTest, LeavingInTheMiddleOfAnAnswerFreesIt) {
  const std::unique_ptr<mem::Tier> scratch = mem::MakeDramTier("query", size_t{64} << 20);
  QueryServiceOptions options;
  options.scratch = scratch.get();
  Start(options);
  auto client = std::make_unique<RawClient>(address_);
  client->Ask(kEightMegabytes);
  Until([&] { return counters().unread_bytes > 0; });
  EXPECT_GE(scratch->Stats().used_bytes, size_t{8'000'000});
  client = nullptr;
  Until([&] { return scratch->Stats().used_bytes == 0; });
  Until([&] { return counters().unread_bytes == 0; });  // Counted a moment later.
}

TEST_F(QueryServiceClientsTest, OneThatDoesNotReadIsCutOffAfterATime) {
  QueryServiceOptions options;
  options.unread_timeout_ns = 1;  // This adds a second for each 4 MiB.
  Start(options);
  RawClient client(address_);
  client.Ask(kEightMegabytes);
  Until([&] { return counters().clients_cut_off == 1; });
  Until([&] { return counters().clients == 0; });
  EXPECT_EQ(counters().unread_bytes, 0u);
  EXPECT_FALSE(client.Answer().has_value());
}

TEST_F(QueryServiceClientsTest, UnreadAnswersOfAllAreBoundedAndMoreAreErrors) {
  QueryServiceOptions options;
  options.max_unread_bytes = size_t{12} << 20;
  Start(options);
  auto lazy = std::make_unique<RawClient>(address_);
  lazy->Ask(kEightMegabytes);
  Until([&] { return counters().unread_bytes > 0; });
  EXPECT_EQ(Message(Ask(kEightMegabytes).status()),
            "limit: answer of 8000014 bytes, 8000014 bytes of others are unread, at most 12582912");
  EXPECT_EQ(Ask("til 100000")->count(), 100'000u);
  lazy = nullptr;
  Until([&] { return counters().unread_bytes == 0; });
  EXPECT_EQ(Ask(kEightMegabytes)->count(), 1'000'000u);
}

TEST_F(QueryServiceClientsTest, SlowQueriesAreLoggedOnceASecond) {
  QueryServiceOptions options;
  options.slow_ns = 1;
  Start(options);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Ask("sum til 100000").ok());
  EXPECT_FALSE(wire::Ask(address_,
                         Value::List({Value::String("{x+y}"), Value::Symbol("a"), Value::Long(1)}),
                         20s)
                   .ok());
  service_ = nullptr;
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("W tickstack slow query ms="));
  EXPECT_THAT(log, HasSubstr("text=\"sum til 100000\""));
  EXPECT_THAT(log, testing::Not(HasSubstr("x+y")));

  Start(options);
  testing::internal::CaptureStderr();
  EXPECT_TRUE(Ask("count \"" + std::string(200, 'x') + "\"").ok());
  service_ = nullptr;
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("text=\"count \"" + std::string(93, 'x') + "...\""));
}

}  // namespace
}  // namespace tickstack::serve
