#include "aggengine/aggengine_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/logging.h"
#include "mem/tier.h"
#include "wire/codec.h"
#include "wire/listener_options.h"
#include "wire/simulation.h"

namespace tickstack::aggengine {
namespace {

using namespace std::chrono_literals;

constexpr int32_t kDate = 5028;
constexpr int64_t kNowNs = kDate * kNsPerDay + 15 * 3600 * kNsPerSecond;
constexpr auto kAtMost = 20s;  // Simulated time.

Value Empty(Type type) { return Value::Vector(type, ByteBuffer()); }

// The part of a tickerplant that the engine sees: two tables, no log, and answers to upds only when
// the test gives them.
class SmallTickerplant final : public wire::ServerHandler {
 public:
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    absl::StatusOr<Value> request = wire::Decode(message.body);
    ASSERT_TRUE(request.ok());
    if (!request->is_list()) {  // A question for `.u.L`: is the log still that of the answer?
      return connection.Reply(connection.TakeTicket(), Value::Symbol(""));
    }
    const std::string verb(request->items()[0].text());
    if (verb == ".u.subx") {
      EXPECT_FALSE(publishers.empty()) << "rows of the engine before this one may follow";
      subscriber = &connection;
      is_asked_for_rows_ahead = request->items().size() == 4;
      std::vector<Value> answer;
      answer.push_back(Schemas());
      answer.push_back(Value::Long(0));
      answer.push_back(Value::Symbol(""));
      if (interval_ns > 0) {
        answer.push_back(Value::List({Value::Timespan(interval_ns), Value::Timestamp(next_ns)}));
      }
      return connection.Reply(connection.TakeTicket(), Value::List(std::move(answer)));
    }
    if (verb == ".u.upd") {
      upds.push_back(*std::move(request));
      tickets.push_back({&connection, connection.TakeTicket()});
      return;
    }
    if (verb == ".u.publisher") {
      publishers.push_back(*std::move(request));
      return connection.Reply(connection.TakeTicket(), Value());
    }
    const bool registers = request->items()[0].text() == ".u.closer";
    (registers ? closers : notes).push_back(*std::move(request));
  }
  void OnClosed(wire::Connection& connection, const absl::Status&) override {
    if (subscriber == &connection) subscriber = nullptr;
    std::erase_if(tickets, [&](const auto& ticket) { return ticket.first == &connection; });
  }

  void Publish(std::vector<double> prices, std::vector<int64_t> minutes) {
    std::vector<int64_t> times;
    SymbolVector names;
    for (const int64_t minute : minutes) {
      times.push_back(kDate * kNsPerDay + minute * 60 * kNsPerSecond);
      names.push_back("IBM");
    }
    subscriber->SendAsync(
        Value::List({Value::Symbol("upd"), Value::Symbol("trade"),
                     Value::Table({"time", "sym", "price"},
                                  {Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                                   Value::Symbols(std::move(names)),
                                   Value::Vector(Type::kFloat, std::span<const double>(prices))}),
                     Value::Long(static_cast<int64_t>(++seq_))}));
  }
  void AnswerOldest() {
    tickets.front().first->Reply(tickets.front().second, Value());
    tickets.pop_front();
  }
  void RefuseOldest() {
    tickets.front().first->ReplyError(tickets.front().second, "type");
    tickets.pop_front();
  }
  // Breaks the connection that publishes, of which a ticket is open.
  void BreakLink() { tickets.front().first->Close(absl::OkStatus()); }

  int64_t interval_ns = 0, next_ns = 0;  // Batch times, if it publishes rows ahead of batches.
  bool is_asked_for_rows_ahead = false;
  wire::Connection* subscriber = nullptr;
  std::vector<Value> upds;  // Whole upds in the order of their arrival.
  std::deque<std::pair<wire::Connection*, wire::ReplyTicket>> tickets;
  std::vector<Value> closers;     // `.u.closer` messages.
  std::vector<Value> publishers;  // `.u.publisher` messages.
  std::vector<Value> notes;       // Other messages.

 private:
  static Value Schemas() {
    const Value trade =
        Value::Table({"time", "sym", "price"},
                     {Empty(Type::kTimestamp), Value::Symbols({}), Empty(Type::kFloat)});
    const Value bars = Value::KeyedTable(
        Value::Table({"sym", "minute"}, {Value::Symbols({}), Empty(Type::kTimestamp)}),
        Value::Table({"time", "high", "n"},
                     {Empty(Type::kTimestamp), Empty(Type::kFloat), Empty(Type::kLong)}));
    return Value::List(
        {Value::List({Value::Symbol("trade"), trade}), Value::List({Value::Symbol("bars"), bars})});
  }
  uint64_t seq_ = 0;
};

class AggEngineServiceTest : public testing::Test {
 protected:
  explicit AggEngineServiceTest(std::chrono::nanoseconds gap = 0ns, int64_t interval_ns = 0,
                                int64_t next_ns = 0) {
    InitLogging("test", LogLevel::kOff);
    tickerplant_.interval_ns = interval_ns;
    tickerplant_.next_ns = next_ns;
    tickerplant_server_ = *wire::Listen(loop_, {}, {}, &tickerplant_);
    BarSpec spec{"bars", "trade", 60 * kNsPerSecond, {}};
    spec.aggregates.push_back(*ParseAggregate("high", "max price"));
    spec.aggregates.push_back(*ParseAggregate("n", "count"));
    engine_ = std::make_unique<Engine>(EngineOptions{.bars = {spec}}, tier_.get(), &loop_.clock());
    ServiceOptions options;
    options.subscriber.tickerplant = {"127.0.0.1", tickerplant_server_->port(), {}};
    options.subscriber.client.user = "agg";
    options.gap_ns = gap.count();
    options.subscriber.client.first_pause = 1ms;
    service_ = std::make_unique<AggEngineService>(loop_, options, engine_.get());
    Wait([this] { return engine_->is_live() && tickerplant_.closers.size() == 2; });
  }
  ~AggEngineServiceTest() override {
    service_ = nullptr;
    tickerplant_server_ = nullptr;
  }

  void Wait(const std::function<bool()>& condition) {
    ASSERT_TRUE(simulation_.RunUntil(condition, kAtMost));
  }
  void WaitForUpds(size_t count) {
    Wait([&] { return tickerplant_.upds.size() >= count; });
  }
  // Expects it although the next time to publish is an hour away.
  void ExpectThatADayEndsAtOnce() {
    tickerplant_.Publish({10}, {1});
    WaitForUpds(1);
    tickerplant_.AnswerOldest();
    tickerplant_.Publish({11}, {2});
    tickerplant_.subscriber->SendAsync(
        Value::List({Value::Symbol(".u.closing"), Value::Date(kDate)}));
    WaitForUpds(2);
    tickerplant_.AnswerOldest();
    Wait([this] { return tickerplant_.notes.size() == 1; });
    EXPECT_EQ(tickerplant_.notes[0].items()[0].text(), ".u.closed");
  }
  // The columns of a message: sym, minute, time, high, n.
  static const Value& Column(const Value& upd, size_t column) {
    return upd.items()[2].items()[column];
  }
  static std::vector<int64_t> Counts(const Value& upd) {
    const std::span<const int64_t> n = Column(upd, 4).span<int64_t>();
    return {n.begin(), n.end()};
  }

  std::unique_ptr<mem::Tier> tier_ = mem::MakeDramTier("dram");
  wire::Simulation simulation_{kNowNs};
  wire::EventLoop& loop_ = simulation_.loop();
  SmallTickerplant tickerplant_;
  std::unique_ptr<wire::Server> tickerplant_server_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<AggEngineService> service_;
};

TEST_F(AggEngineServiceTest, PublishesChangedRowsAndSaysThatItClosesDays) {
  // There is one closer for each connection.
  for (const Value& closer : tickerplant_.closers) EXPECT_EQ(closer.items()[1].symbol(), "agg");
  ASSERT_EQ(tickerplant_.publishers.size(), 1u);
  EXPECT_EQ(tickerplant_.publishers[0].items()[1].symbol(), "agg");
  tickerplant_.Publish({10, 12, 11}, {1, 1, 2});
  WaitForUpds(1);
  const Value& upd = tickerplant_.upds[0];
  EXPECT_EQ(upd.items()[1].symbol(), "bars");
  EXPECT_THAT(Counts(upd), testing::ElementsAre(2, 1));
  EXPECT_THAT(Column(upd, 3).span<double>(), testing::ElementsAre(12, 11));
  EXPECT_TRUE(service_->has_unpublished()) << "nobody said that it is logged";
  tickerplant_.AnswerOldest();
  Wait([this] { return !service_->has_unpublished(); });
  tickerplant_.Publish({9}, {2});
  WaitForUpds(2);
  EXPECT_THAT(Counts(tickerplant_.upds[1]), testing::ElementsAre(2)) << "only what changed";
}

TEST_F(AggEngineServiceTest, WhatWasNotAnsweredBeforeALossIsSentAgain) {
  tickerplant_.Publish({10, 12}, {1, 2});
  WaitForUpds(1);
  tickerplant_.BreakLink();
  WaitForUpds(2);
  EXPECT_EQ(Column(tickerplant_.upds[1], 1), Column(tickerplant_.upds[0], 1));
  EXPECT_THAT(Counts(tickerplant_.upds[1]), testing::ElementsAre(1, 1));
  tickerplant_.AnswerOldest();
  Wait([this] { return !service_->has_unpublished(); });
  EXPECT_EQ(engine_->counters().rows_out_again, 2u);
  EXPECT_EQ(tickerplant_.publishers.size(), 2u) << "rows of the lost connection may follow";
}

TEST_F(AggEngineServiceTest, ChangesGatherWhileAnswersAreOut) {
  for (size_t i = 0; i < Engine::kUnansweredMax; ++i) {
    tickerplant_.Publish({1}, {static_cast<int64_t>(i)});
    WaitForUpds(i + 1);
  }
  for (int i = 0; i < 5; ++i) tickerplant_.Publish({2}, {1000});
  Wait([this] { return engine_->counters().rows_in == Engine::kUnansweredMax + 5; });
  EXPECT_EQ(tickerplant_.upds.size(), Engine::kUnansweredMax);
  tickerplant_.AnswerOldest();
  WaitForUpds(Engine::kUnansweredMax + 1);
  EXPECT_THAT(Counts(tickerplant_.upds.back()), testing::ElementsAre(5)) << "one row, the newest";
}

TEST_F(AggEngineServiceTest, ADayIsClosedOnlyWhenItsLastRowsAreLogged) {
  tickerplant_.Publish({10}, {1});
  tickerplant_.subscriber->SendAsync(
      Value::List({Value::Symbol(".u.closing"), Value::Date(kDate)}));
  WaitForUpds(1);
  Wait([this] { return engine_->closing_date().has_value(); });
  // The rows arrive on the same connection, so when they are here nothing was sent before them.
  tickerplant_.Publish({11}, {2});
  WaitForUpds(2);
  EXPECT_TRUE(tickerplant_.notes.empty()) << "closed before its rows were answered";
  tickerplant_.AnswerOldest();
  tickerplant_.AnswerOldest();
  Wait([this] { return tickerplant_.notes.size() == 1; });
  const Value& closed = tickerplant_.notes[0];
  EXPECT_EQ(closed.items()[0].text(), ".u.closed");
  EXPECT_EQ(closed.items()[1].symbol(), "agg");
  EXPECT_EQ(closed.items()[2], Value::Date(kDate));
}

TEST_F(AggEngineServiceTest, ARefusalIsCountedAndDoesNotHoldADayOpen) {
  tickerplant_.Publish({10}, {1});
  WaitForUpds(1);
  tickerplant_.subscriber->SendAsync(
      Value::List({Value::Symbol(".u.closing"), Value::Date(kDate)}));
  Wait([this] { return engine_->closing_date().has_value(); });
  tickerplant_.RefuseOldest();
  Wait([this] { return tickerplant_.notes.size() == 1; });
  EXPECT_EQ(engine_->counters().messages_out_refused, 1u);
}

// Rows that arrive after StopAcceptingRows are not taken; those taken before are published and
// answered.
TEST_F(AggEngineServiceTest, AtItsEndItPublishesWhatItTook) {
  tickerplant_.Publish({10}, {1});
  WaitForUpds(1);
  service_->StopAcceptingRows();
  tickerplant_.Publish({11}, {2});
  tickerplant_.AnswerOldest();
  Wait([this] { return !service_->has_unpublished(); });
  EXPECT_EQ(engine_->counters().rows_in, 1u);
  EXPECT_EQ(tickerplant_.upds.size(), 1u);
}

// Batches come every 10 ms, and bars at least an hour after the last ones.
class RareBarsTest : public AggEngineServiceTest {
 protected:
  RareBarsTest() : AggEngineServiceTest(1h, kNsPerSecond / 100, kNsPerSecond / 1000) {}
};

TEST_F(RareBarsTest, TheGapHoldsHoweverOftenBatchesLeave) {
  for (uint64_t i = 1; i <= 20; ++i) {
    tickerplant_.Publish({10}, {static_cast<int64_t>(i)});
    Wait([&] { return engine_->counters().rows_in == i; });
    EXPECT_FALSE(simulation_.RunUntil([this] { return tickerplant_.upds.size() > 1; }, 5ms));
  }
}

// A tickerplant names times that it cannot mean: the engine takes rows, and publishes them as they
// come.
class OddTimesTest : public AggEngineServiceTest,
                     public testing::WithParamInterface<std::pair<int64_t, int64_t>> {
 protected:
  OddTimesTest() : AggEngineServiceTest(0ns, GetParam().first, GetParam().second) {}
};

TEST_P(OddTimesTest, AreNoReasonToWait) {
  tickerplant_.Publish({10}, {1});
  WaitForUpds(1);
}

INSTANTIATE_TEST_SUITE_P(Intervals, OddTimesTest,
                         testing::Values(std::pair(1, 0), std::pair(999'999, INT64_MAX),
                                         std::pair(INT64_MAX, INT64_MIN),
                                         std::pair(INT64_MAX, INT64_MAX)));

class LongGapTest : public AggEngineServiceTest {
 protected:
  LongGapTest() : AggEngineServiceTest(1h) {}
};
class ShortGapTest : public AggEngineServiceTest {
 protected:
  ShortGapTest() : AggEngineServiceTest(5ms) {}
};

// The tickerplant publishes every hour. Its next publication is some eighths of an hour and two
// seconds away. With five eighths, the turn three eighths behind the previous publication is in two
// seconds; with one eighth, the turn at seven eighths is.
constexpr int64_t kHourNs = 3600 * kNsPerSecond;
constexpr int64_t kSoonNs = 2 * kNsPerSecond;
class BatchesTest : public AggEngineServiceTest {
 protected:
  explicit BatchesTest(int64_t eighths = 5, std::chrono::nanoseconds gap = 0ns)
      : AggEngineServiceTest(gap, kHourNs, kNowNs + kHourNs * eighths / 8 + kSoonNs) {}
};
class SecondTurnTest : public BatchesTest {
 protected:
  SecondTurnTest() : BatchesTest(1) {}
};
class LongGapSecondTurnTest : public BatchesTest {
 protected:
  LongGapSecondTurnTest() : BatchesTest(1, 31min) {}
};

// The engine has just published because a day ends; its next turn is in two seconds.
class TurnBehindAPublicationTest : public BatchesTest {
 protected:
  explicit TurnBehindAPublicationTest(std::chrono::nanoseconds gap) : BatchesTest(5, gap) {}
  void PublishForTheEndOfADay() {
    tickerplant_.Publish({11}, {1});
    Wait([this] { return engine_->counters().rows_in == 1; });
    tickerplant_.subscriber->SendAsync(
        Value::List({Value::Symbol(".u.closing"), Value::Date(kDate)}));
    WaitForUpds(1);
    tickerplant_.AnswerOldest();
    Wait([this] { return !engine_->closing_date(); });
    tickerplant_.Publish({12}, {1});
    Wait([this] { return engine_->counters().rows_in == 2; });
  }
};
class MostOfAGapIsOverTest : public TurnBehindAPublicationTest {
 protected:
  MostOfAGapIsOverTest() : TurnBehindAPublicationTest(7min) {}
};
class MostOfAGapIsLeftTest : public TurnBehindAPublicationTest {
 protected:
  MostOfAGapIsLeftTest() : TurnBehindAPublicationTest(8min) {}
};

// A turn is taken if at most a quarter of its interval is left to wait: 7.5 minutes of 30.
TEST_F(MostOfAGapIsOverTest, TheTurnIsTaken) {
  PublishForTheEndOfADay();
  WaitForUpds(2);
}

TEST_F(MostOfAGapIsLeftTest, TheTurnPasses) {
  PublishForTheEndOfADay();
  EXPECT_FALSE(simulation_.RunUntil([this] { return tickerplant_.upds.size() > 1; }, 3s));
}

TEST_F(SecondTurnTest, PublishesTwiceBetweenBatches) {
  tickerplant_.Publish({11}, {1});
  WaitForUpds(1);
}

TEST_F(LongGapSecondTurnTest, PublishesOnceWhereTwiceWouldBeSoonerThanAGap) {
  tickerplant_.Publish({11}, {1});
  Wait([this] { return engine_->counters().rows_in == 1; });
  EXPECT_FALSE(simulation_.RunUntil([this] { return !tickerplant_.upds.empty(); }, 3s));
}

TEST_F(BatchesTest, PublishesBetweenBatches) {
  EXPECT_TRUE(tickerplant_.is_asked_for_rows_ahead);
  for (int i = 0; i < 5; ++i) tickerplant_.Publish({11}, {1});
  WaitForUpds(1);
  EXPECT_THAT(Counts(tickerplant_.upds[0]), testing::ElementsAre(5)) << "one row for five upds";
  tickerplant_.AnswerOldest();
  tickerplant_.Publish({12}, {1});
  Wait([this] { return engine_->counters().rows_in == 6; });
  EXPECT_FALSE(simulation_.RunUntil([this] { return tickerplant_.upds.size() > 1; }, 50ms));
}

TEST_F(BatchesTest, ADayThatEndsDoesNotWaitForTheNextTime) { ExpectThatADayEndsAtOnce(); }

TEST_F(LongGapTest, WhatComesInTheGapGathers) {
  tickerplant_.Publish({10}, {1});
  WaitForUpds(1);
  tickerplant_.AnswerOldest();
  for (int i = 0; i < 5; ++i) tickerplant_.Publish({11}, {1});
  Wait([this] { return engine_->counters().rows_in == 6 && engine_->unanswered() == 0; });
  EXPECT_EQ(tickerplant_.upds.size(), 1u);
  service_->StopAcceptingRows();
  WaitForUpds(2);
  EXPECT_THAT(Counts(tickerplant_.upds[1]), testing::ElementsAre(6)) << "one row for five batches";
}

TEST_F(LongGapTest, ADayThatEndsDoesNotWaitForIt) { ExpectThatADayEndsAtOnce(); }

TEST_F(ShortGapTest, IsOverByItself) {
  for (size_t i = 0; i < 4; ++i) {
    tickerplant_.Publish({10}, {static_cast<int64_t>(i)});
    WaitForUpds(i + 1);
  }
}

}  // namespace
}  // namespace tickstack::aggengine
