#include "feed/feed_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "base/logging.h"
#include "base/status.h"
#include "feed/sources/sim_source.h"
#include "feed/sources/source_testing.h"
#include "wire/client.h"
#include "wire/listener_options.h"
#include "wire/server.h"
#include "wire/simulation.h"
#include "wire/upd.h"

namespace tickstack::feed {
namespace {

using namespace std::chrono_literals;

constexpr auto kAtMost = 20s;                                             // Simulated time.
constexpr int64_t kNowNs = 9'500 * kNsPerDay + 15 * 3600 * kNsPerSecond;  // In 2026.

// A tickerplant that remembers rows, and breaks the connection on request.
class SmallTickerplant final : public wire::ServerHandler {
 public:
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    const absl::StatusOr<Value> value = wire::Decode(message.body);
    ASSERT_TRUE(value.ok());
    const std::vector<Value>& items = value->items();
    if (items[0].text() == ".u.feed") {
      last = &connection;
      if (!refusal.empty()) return connection.ReplyError(connection.TakeTicket(), refusal);
      if (!answers) return;
      return connection.Reply(
          connection.TakeTicket(),
          Value::Dict(Value::Symbols({"trade", "quote"}),
                      Value::Longs({static_cast<int64_t>(rows["trade"].size()),
                                    static_cast<int64_t>(rows["quote"].size())})));
    }
    ++messages;
    if (break_at == messages) return connection.Close(absl::OkStatus());
    if (refuse_at == messages) {
      return connection.SendAsync(
          Value::List({Value::Symbol(".u.err"), Value::String("type: quote.bid")}));
    }
    std::vector<std::string>& log = rows[std::string(items[3].symbol())];
    const auto first = static_cast<size_t>(items[2].as<int64_t>());
    ByteBuffer x;
    wire::Encode(items[4], x);
    const std::vector<std::string> texts = RowTexts(x);
    for (size_t i = 0; first <= log.size() && i < texts.size(); ++i) {
      if (first + i >= log.size()) log.push_back(texts[i]);
    }
  }
  void OnClosed(wire::Connection&, const absl::Status&) override {}

  RowsByTable rows;
  bool answers = true;
  std::string refusal;  // Of claims.
  wire::Connection* last = nullptr;
  int messages = 0;
  int break_at = 0, refuse_at = 0;
};

// Queries the feed over its own port, on the same loop.
class TestClient final : public wire::ClientHandler {
 public:
  TestClient(wire::Simulation& simulation, uint16_t port)
      : simulation_(simulation), client_(simulation.loop(), {"127.0.0.1", port, {}}, {}, this) {}
  void OnConnected(wire::Connection& connection) override { connection_ = &connection; }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override { connection_ = nullptr; }

  absl::StatusOr<Value> Ask(std::string_view query) { return Ask(Value::String(query)); }
  absl::StatusOr<Value> Ask(const Value& query) {
    EXPECT_TRUE(simulation_.RunUntil([this] { return connection_ != nullptr; }, kAtMost));
    std::optional<absl::StatusOr<Value>> answer;
    connection_->Call(query, [&answer](const absl::StatusOr<Value>& a) { answer = a; });
    EXPECT_TRUE(simulation_.RunUntil([&answer] { return answer.has_value(); }, kAtMost));
    return *answer;
  }

 private:
  wire::Simulation& simulation_;
  wire::Connection* connection_ = nullptr;
  wire::Client client_;
};

class FeedServiceTest : public testing::Test {
 protected:
  FeedServiceTest() {
    InitLogging("test", LogLevel::kOff);
    tickerplant_server_ = *wire::Listen(loop_, {}, {}, &tickerplant_);
  }

  // Opens a feed of 11,000 updates in messages of at most 100 rows.
  void Open() {
    SimOptions options;
    options.rows = 11'000;
    options.rate = 0;
    options.batch_rows = 100;
    absl::StatusOr<std::unique_ptr<Source>> source = options.Open();
    ASSERT_TRUE(source.ok());
    service_ = std::make_unique<FeedService>(
        loop_, wire::Address{"127.0.0.1", tickerplant_server_->port(), {}},
        std::make_unique<Feed>(FeedSettings{}, *std::move(source)));
    server_ = *wire::Listen(loop_, {}, {}, service_->queries());
  }
  void RunToTheEnd() {
    EXPECT_TRUE(simulation_.RunUntil([this] { return service_->feed().finished(); }, kAtMost));
    EXPECT_EQ(service_->feed().state(), FeedState::kDone);
    EXPECT_EQ(tickerplant_.rows["quote"].size(), 10'000u);
    EXPECT_EQ(tickerplant_.rows["trade"].size(), 1'000u);
  }

  wire::Simulation simulation_{kNowNs};
  wire::EventLoop& loop_ = simulation_.loop();
  SmallTickerplant tickerplant_;
  std::unique_ptr<wire::Server> tickerplant_server_;
  std::unique_ptr<FeedService> service_;
  std::unique_ptr<wire::Server> server_;
};

TEST_F(FeedServiceTest, WaitsForItsStartAndPublishesEverything) {
  Open();
  TestClient client(simulation_, server_->port());
  const absl::StatusOr<Value> before = client.Ask(".feed.stats[]");
  ASSERT_TRUE(before.ok()) << before.status();
  EXPECT_EQ(before->values().items()[0], Value::Symbol("waiting"));
  EXPECT_EQ(tickerplant_.messages, 0);
  EXPECT_TRUE(client.Ask(".feed.start[]").ok());
  RunToTheEnd();
  const absl::StatusOr<Value> after = client.Ask(".feed.stats[]");
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(after->values().items()[0], Value::Symbol("done"));
}

// A feed of two shards, each with a tickerplant that takes all rows.
class TwoShardsTest : public FeedServiceTest {
 protected:
  void OpenBoth() {
    SimOptions options;
    options.rows = 1'100;
    options.rate = 0;
    std::vector<FeedTarget> targets;
    for (const auto& [shard, server] :
         {std::pair("a", &tickerplant_server_), std::pair("b", &other_server_)}) {
      FeedSettings settings;
      settings.instance = "one";
      settings.waits_for_others = true;
      targets.push_back({shard, wire::Address{"127.0.0.1", (*server)->port(), {}},
                         std::make_unique<Feed>(settings, *options.Open())});
    }
    service_ = std::make_unique<FeedService>(loop_, std::move(targets));
    service_->Start();
  }
  bool IsDone() const { return service_->feed(0).finished() && service_->feed(1).finished(); }

  SmallTickerplant other_;
  std::unique_ptr<wire::Server> other_server_ = *wire::Listen(loop_, {}, {}, &other_);
};

// Goal: no shard gets a first row before all have said that they have no objection. Method: the
// other tickerplant does not answer, until its connection breaks.
// Goal: a feed with a pace neither floods the tickerplant with the rows of a day that the clock has
// skipped, nor falls silent until the clock has caught up with the time before it was set back.
TEST_F(FeedServiceTest, KeepsItsPaceWhenTheClockIsSet) {
  SimOptions options;
  options.rate = 1'000;
  options.batch_rows = 100;
  service_ = std::make_unique<FeedService>(
      loop_, wire::Address{"127.0.0.1", tickerplant_server_->port(), {}},
      std::make_unique<Feed>(FeedSettings{}, *options.Open()));
  service_->Start();
  const auto rows = [this] { return tickerplant_.rows["quote"].size(); };
  simulation_.RunFor(2s);
  EXPECT_NEAR(static_cast<double>(rows()), 2'000 / 1.1, 30);
  for (const int64_t step_ns : {kNsPerDay, -2 * kNsPerDay, 3'600 * kNsPerSecond, -kNsPerSecond}) {
    const size_t before = rows();
    simulation_.SetClock(step_ns);
    simulation_.RunFor(2s);
    EXPECT_NEAR(static_cast<double>(rows() - before), 2'000 / 1.1, 30) << step_ns;
  }
  EXPECT_EQ(service_->feed().state(), FeedState::kPublishing);
}

TEST_F(TwoShardsTest, SendNoFirstRowBeforeBothHaveAnswered) {
  other_.answers = false;
  OpenBoth();
  EXPECT_FALSE(simulation_.RunUntil([this] { return IsDone(); }, 5s));
  EXPECT_EQ(tickerplant_.messages, 0);
  other_.answers = true;
  other_.last->Close(absl::OkStatus());
  EXPECT_TRUE(simulation_.RunUntil([this] { return IsDone(); }, kAtMost));
  EXPECT_EQ(tickerplant_.rows["quote"].size(), 1'000u);
  EXPECT_EQ(other_.rows["quote"].size(), 1'000u);
}

TEST_F(TwoShardsTest, SendNothingIfOneRefusesTheSource) {
  other_.refusal = "again: 7 rows of feed are logged as x";
  OpenBoth();
  EXPECT_FALSE(simulation_.RunUntil([this] { return IsDone(); }, 5s));
  EXPECT_TRUE(service_->refused());
  EXPECT_EQ(service_->feed(1).state(), FeedState::kFailed);
  EXPECT_EQ(Message(service_->feed(1).error()), other_.refusal);
  EXPECT_EQ(tickerplant_.messages, 0);
}

// Goal: a restarted feed does not wait for a shard that is down. Method: one has rows already.
TEST_F(TwoShardsTest, AShardThatHasRowsDoesNotWait) {
  other_.answers = false;
  tickerplant_.rows["trade"].resize(1);
  OpenBoth();
  EXPECT_TRUE(simulation_.RunUntil([this] { return service_->feed(0).finished(); }, kAtMost));
  EXPECT_EQ(tickerplant_.rows["quote"].size(), 1'000u);
}

TEST_F(FeedServiceTest, AnswersWhatEveryProcessDoes) {
  Open();
  TestClient client(simulation_, server_->port());
  const absl::StatusOr<Value> now = client.Ask(".z.p");
  ASSERT_TRUE(now.ok()) << now.status();
  EXPECT_TRUE(now->is_atom_of(Type::kTimestamp));
  EXPECT_FALSE(client.Ask(".feed.nonsense[]").ok());
}

// A list that begins with a function's name is a call, whatever its arguments. It needs no
// evaluation, in which the list of an unknown name or a wrong one is an error.
TEST_F(FeedServiceTest, AnswersACallWithoutEvaluatingIt) {
  Open();
  TestClient client(simulation_, server_->port());
  const auto call = [](std::string_view name, Value argument) {
    return Value::List({Value::Symbol(name), std::move(argument)});
  };
  for (const Value& argument : {Value::List({}), Value::Symbol("x")}) {
    const absl::StatusOr<Value> stats = client.Ask(call(".feed.stats", argument));
    ASSERT_TRUE(stats.ok()) << stats.status();
    EXPECT_EQ(stats->values().items()[0], Value::Symbol("waiting"));
  }
  EXPECT_TRUE(client.Ask(Value::Symbols({".feed.stats", "x"})).ok());
  EXPECT_FALSE(client.Ask(call(".feed.nonsense", Value::List({}))).ok());
}

TEST_F(FeedServiceTest, ComesBackAfterABrokenConnection) {
  tickerplant_.break_at = 37;
  Open();
  service_->Start();
  RunToTheEnd();
}

TEST_F(FeedServiceTest, SendsAgainWhatWasRefused) {
  tickerplant_.refuse_at = 37;
  Open();
  service_->Start();
  RunToTheEnd();
}

TEST_F(FeedServiceTest, GoesQuietlyWhileAQuestionIsUnderWay) {
  tickerplant_.answers = false;
  Open();
  service_->Start();
  simulation_.RunUntil([this] { return service_->connected(); }, kAtMost);
  simulation_.RunFor(20ms);
  server_.reset();
  service_.reset();
  simulation_.RunFor(20ms);
  EXPECT_EQ(tickerplant_.messages, 0);
}

TEST_F(FeedServiceTest, WhatWasQueuedIsSentBeforeItStops) {
  Open();
  service_->Start();
  simulation_.RunUntil([this] { return tickerplant_.messages > 0; }, kAtMost);
  service_->StopPublishing(kAtMost);
  EXPECT_TRUE(simulation_.RunUntil([this] { return !service_->connected(); }, kAtMost));
  simulation_.RunUntil([this] { return tickerplant_server_->Connections().empty(); }, kAtMost);
  for (const auto& [table, rows] : service_->feed().rows_sent()) {
    EXPECT_EQ(static_cast<int64_t>(tickerplant_.rows[table].size()), rows) << table;
  }
}

}  // namespace
}  // namespace tickstack::feed
