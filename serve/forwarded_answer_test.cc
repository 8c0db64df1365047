// Goal: a client gets an answer of another process as that process sent it, or loses its connection
// if the rest does not come; what it asks next is answered after that. Method: an environment that
// plays the other process, with pieces of random sizes, pauses, and early ends.

#include "serve/forwarded_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/status.h"
#include "query/query.h"
#include "serve/query_counters.h"
#include "serve/query_service.h"
#include "table/answer_sink.h"
#include "wire/client.h"
#include "wire/codec.h"

namespace tickstack::serve {
namespace {

using namespace std::chrono_literals;
using wire::AnswerStream;

const wire::ClientOptions kOnce = [] {
  wire::ClientOptions options;
  options.reconnect = false;
  return options;
}();

std::shared_ptr<const ByteBuffer> Bytes(std::string_view text) {
  auto bytes = std::make_shared<ByteBuffer>();
  bytes->Append(AsBytes(text));
  return bytes;
}

void AddTo(ForwardedAnswer& answer, std::string_view text) {
  const auto bytes = Bytes(text);
  answer.Add(bytes->span(), bytes);
}

TEST(ForwardedAnswer, TheStreamWaitsForBytesAndIsWokenOnce) {
  int woken = 0;
  std::optional<ForwardedAnswer> answer(std::in_place, 8, [&woken] { ++woken; });
  const std::unique_ptr<AnswerStream> stream = answer->MakeStream();
  EXPECT_EQ(stream->total_bytes(), 8u);
  AddTo(*answer, "abc");
  EXPECT_EQ(woken, 0);
  EXPECT_EQ(AsText(stream->Next(2).raw), "ab");
  EXPECT_EQ(AsText(stream->Next(2).raw), "c");
  EXPECT_EQ(stream->Next(2).bytes(), 0u);
  EXPECT_EQ(stream->state(), AnswerStream::State::kWaits);
  AddTo(*answer, "de");
  AddTo(*answer, "fgh");
  EXPECT_EQ(woken, 1);
  answer.reset();
  EXPECT_EQ(AsText(stream->Next(100).raw), "de");
  EXPECT_EQ(AsText(stream->Next(100).raw), "fgh");
  EXPECT_EQ(stream->Next(100).bytes(), 0u);
  EXPECT_EQ(stream->state(), AnswerStream::State::kEnded);
  EXPECT_EQ(woken, 1);
}

TEST(ForwardedAnswer, AnAnswerThatEndsEarlyIsBroken) {
  int woken = 0;
  std::optional<ForwardedAnswer> answer(std::in_place, 8, [&woken] { ++woken; });
  const std::unique_ptr<AnswerStream> stream = answer->MakeStream();
  EXPECT_EQ(stream->Next(2).bytes(), 0u);
  AddTo(*answer, "abc");
  answer.reset();
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(AsText(stream->Next(100).raw), "abc");
  EXPECT_EQ(stream->Next(100).bytes(), 0u);
  EXPECT_EQ(stream->state(), AnswerStream::State::kBroken);
}

// Answers the text `big` with longs, and `cut` with a part of them.
class OtherProcess final : public query::Environment {
 public:
  std::optional<Snapshot> FindTable(std::string_view) override { return std::nullopt; }
  std::vector<std::string> TableNames() override { return {}; }
  int64_t NowNs() override { return 0; }

  std::optional<absl::StatusOr<Value>> AnswerWhole(const Value& request,
                                                   const query::Limits& limits,
                                                   const query::KeptNames*) override {
    AnswerSink* const sink = limits.sink;
    if (request.text() != "big" && request.text() != "cut" && request.text() != "cut, again") {
      return std::nullopt;
    }
    if (sink == nullptr || !sink->Begin(message_.size())) return answer();
    ++begun;
    std::mt19937_64 random(++seed_);
    std::span<const std::byte> left = message_.span();
    if (request.text() != "big") left = left.first(left.size() / 2);
    while (!left.empty()) {
      const size_t n = std::min<size_t>(left.size(), 1 + random() % 300'000);
      const auto piece = std::make_shared<ByteBuffer>();
      piece->Append(left.first(n));
      sink->Add(piece->span(), piece);
      left = left.subspan(n);
      if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
    }
    if (request.text() == "cut, again") {
      EXPECT_FALSE(sink->Begin(message_.size())) << "the client has a part of another answer";
    }
    return Value();
  }

  const Value& answer() const { return answer_; }
  size_t message_bytes() const { return message_.size(); }
  std::atomic<int> begun{0};
  QueryCounters counters;

 private:
  static Value Longs() {
    std::vector<int64_t> longs(300'000);
    for (size_t i = 0; i < longs.size(); ++i) longs[i] = static_cast<int64_t>(i * i);
    return Value::Vector(Type::kLong, std::span<const int64_t>(longs));
  }

  const Value answer_ = Longs();
  const ByteBuffer message_ = wire::EncodeMessage(wire::MessageKind::kResponse, answer_);
  std::atomic<uint64_t> seed_{0};
};

class ForwardingTest : public testing::Test {
 protected:
  void Start(const QueryServiceOptions& options) {
    auto started = QueryService::Start(options, &other_, &other_.counters);
    ASSERT_TRUE(started.ok()) << started.status();
    service_ = *std::move(started);
  }

  // Sends requests without waiting between them, and returns the answers.
  std::vector<absl::StatusOr<Value>> Ask(const std::vector<std::string>& requests) {
    class Caller final : public wire::ClientHandler {
     public:
      explicit Caller(const std::vector<std::string>& requests) : requests_(requests) {}
      void OnConnected(wire::Connection& connection) override {
        for (const std::string& request : requests_) {
          connection.Call(Value::String(request), [this](absl::StatusOr<Value> answer) {
            answers.push_back(std::move(answer));
          });
        }
      }
      void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
      void OnClosed(wire::Connection&, const absl::Status&) override {}
      void OnConnectFailed(const absl::Status&, std::chrono::milliseconds) override {}
      std::vector<absl::StatusOr<Value>> answers;

     private:
      const std::vector<std::string>& requests_;
    };
    wire::EventLoop loop;
    Caller caller(requests);
    wire::Client client(loop, {"127.0.0.1", service_->port(), ""}, kOnce, &caller);
    EXPECT_TRUE(loop.RunUntil([&] { return caller.answers.size() == requests.size(); }, 60s));
    return std::move(caller.answers);
  }

  OtherProcess other_;
  std::unique_ptr<QueryService> service_;
};

TEST_F(ForwardingTest, AnswersArriveWholeAndInOrder) {
  QueryServiceOptions options;
  options.threads = 2;
  Start(options);
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back([this] {
      const auto answers = Ask({"1+1", "big", "2+2", "big", "3+3"});
      ASSERT_EQ(answers.size(), 5u);
      for (const absl::StatusOr<Value>& answer : answers) ASSERT_TRUE(answer.ok());
      EXPECT_EQ(answers[0]->as<int64_t>(), 2);
      EXPECT_TRUE(*answers[1] == other_.answer());
      EXPECT_EQ(answers[2]->as<int64_t>(), 4);
      EXPECT_TRUE(*answers[3] == other_.answer());
      EXPECT_EQ(answers[4]->as<int64_t>(), 6);
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(other_.begun, 6);
}

TEST_F(ForwardingTest, AnAnswerThatEndsEarlyEndsTheConnection) {
  Start({});
  EXPECT_TRUE(absl::IsUnavailable(Ask({"cut, again"})[0].status()));
  const auto answers = Ask({"1+1", "cut", "2+2"});
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_TRUE(answers[0].ok());
  EXPECT_TRUE(absl::IsUnavailable(answers[1].status())) << answers[1].status();
  EXPECT_TRUE(absl::IsUnavailable(answers[2].status())) << answers[2].status();
  // Other clients are served.
  EXPECT_TRUE(*Ask({"big"})[0] == other_.answer());
}

TEST_F(ForwardingTest, WithoutRoomForItTheAnswerIsTheErrorOfOthers) {
  QueryServiceOptions options;
  options.max_unread_bytes = other_.message_bytes() / 2;
  Start(options);
  EXPECT_THAT(Message(Ask({"big"})[0].status()), testing::StartsWith("limit: answer of "));
  EXPECT_EQ(other_.begun, 0);
}

TEST_F(ForwardingTest, ItEndsWhileAnswersAreUnderWay) {
  for (int i = 0; i < 10; ++i) {
    Start({});
    wire::EventLoop loop;
    class Asker final : public wire::ClientHandler {
     public:
      void OnConnected(wire::Connection& connection) override {
        connection.Call(Value::String("big"), [](const absl::StatusOr<Value>&) {});
        connected = true;
      }
      void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
      void OnClosed(wire::Connection&, const absl::Status&) override {}
      void OnConnectFailed(const absl::Status&, std::chrono::milliseconds) override {}
      bool connected = false;
    } asker;
    {
      wire::Client client(loop, {"127.0.0.1", service_->port(), ""}, kOnce, &asker);
      ASSERT_TRUE(loop.RunUntil([&] { return asker.connected; }, 20s));
      loop.RunUntil([] { return false; }, std::chrono::milliseconds(i));
      if (i % 2 == 0) service_ = nullptr;
    }
    service_ = nullptr;
  }
}

}  // namespace
}  // namespace tickstack::serve
