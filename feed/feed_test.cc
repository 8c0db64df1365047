#include "feed/feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "base/logging.h"
#include "base/status.h"
#include "base/time.h"
#include "feed/sources/lean_source.h"
#include "feed/sources/sim_source.h"
#include "feed/sources/source_testing.h"
#include "feed/sources/tplog_source.h"
#include "wire/ipc.h"

namespace tickstack::feed {
namespace {

using testing::HasSubstr;

constexpr int64_t kMs = 1'000'000;

// A tickerplant in a few lines, and the network to it: the test decides when each message is
// delivered, and undelivered messages are lost with the connection.
class ModelTickerplant : public Link {
 public:
  RowsByTable logged;
  bool numbers = true;      // Knows `.u.feed` and `.u.updn`.
  int64_t refuse_row = -1;  // Row of quote that is refused refuse_times times.
  int refuse_times = 0;
  int answers_after = 0;  // Calls of Deliver between a question and its answer.
  int64_t gaps = 0;
  size_t unsent_bytes = 0;  // Returned by queued_bytes().
  std::string owner;        // The instance that has the name; if empty, any claim is granted.
  int takeovers = 0;
  std::vector<int64_t> windows;  // Of `.u.window`.

  void Send(ByteBuffer messages) override {
    std::span<const std::byte> left = messages.span();
    while (!left.empty()) {
      const absl::StatusOr<wire::Header> header =
          wire::ParseHeader(left.first<wire::kHeaderBytes>());
      ASSERT_TRUE(header.ok());
      ASSERT_LE(header->total_bytes, left.size());
      EXPECT_EQ(header->kind, wire::MessageKind::kAsync);
      on_the_way_.emplace_back(left.subspan(wire::kHeaderBytes, header->total_bytes - 8));
      left = left.subspan(header->total_bytes);
    }
  }
  void Ask(const Value& request) override {
    ByteBuffer body;
    wire::Encode(request, body);
    on_the_way_.push_back(std::move(body));
  }
  size_t queued_bytes() const override { return unsent_bytes; }

  size_t on_the_way() const { return on_the_way_.size(); }
  void LoseAll() { on_the_way_.clear(); }

  // Delivers at most `messages`.
  void Deliver(Feed& feed, int64_t now_ns, size_t messages = SIZE_MAX) {
    for (; messages > 0 && !on_the_way_.empty(); --messages) {
      const ByteBuffer body = std::move(on_the_way_.front());
      on_the_way_.pop_front();
      const absl::StatusOr<Value> message = wire::Decode(body);
      ASSERT_TRUE(message.ok()) << message.status();
      if (message->is_string()) {
        feed.OnAnswer(Value(), now_ns);
      } else if (message->items()[0].text() == ".u.window") {
        windows.push_back(message->items()[1].as<int64_t>());
      } else if (message->items()[0].text() == ".u.feed" && answers_after > 0) {
        late_ = message->items();
        late_deliveries_ = 0;
      } else if (message->items()[0].text() == ".u.feed") {
        feed.OnAnswer(FeedRows(message->items()), now_ns);
      } else {
        OnUpd(message->items(), feed, now_ns);
      }
    }
    if (late_.empty() || ++late_deliveries_ < answers_after) return;
    feed.OnAnswer(FeedRows(std::exchange(late_, {})), now_ns);
  }

 private:
  absl::StatusOr<Value> FeedRows(const std::vector<Value>& call) {
    EXPECT_EQ(call[1].symbol(), "me");
    if (!numbers) return absl::UnknownError(".u.feed");
    if (call.size() > 3 && call[3].symbol() == "takeover") {
      ++takeovers;
      owner = call[2].symbol();
    }
    if (call.size() > 2 && !owner.empty() && call[2].symbol() != owner) {
      return absl::UnknownError("held: feed me is held by " + owner);
    }
    return Value::Dict(Value::Symbols({"trade", "quote", "other"}),
                       Value::Longs({static_cast<int64_t>(logged["trade"].size()),
                                     static_cast<int64_t>(logged["quote"].size()), 77}));
  }

  void OnUpd(const std::vector<Value>& upd, Feed& feed, int64_t now_ns) {
    const bool numbered = upd[0].symbol() == ".u.updn";
    EXPECT_EQ(numbered, numbers);
    EXPECT_EQ(upd.size(), numbered ? 5u : 3u);
    const std::string table(upd[numbered ? 3 : 1].symbol());
    ByteBuffer x;
    wire::Encode(upd.back(), x);
    const std::vector<std::string> rows = RowTexts(x);
    std::vector<std::string>& log = logged[table];
    int64_t first = static_cast<int64_t>(log.size());
    if (numbered) {
      EXPECT_EQ(upd[1].symbol(), "me");
      first = upd[2].as<int64_t>();
    }
    const auto end = first + static_cast<int64_t>(rows.size());
    if (refuse_times > 0 && table == "quote" && first <= refuse_row && refuse_row < end) {
      --refuse_times;
      feed.OnRefused("type: quote.bid", now_ns);
      return;
    }
    if (first > static_cast<int64_t>(log.size())) {
      ++gaps;
      feed.OnRefused("gap", now_ns);
      return;
    }
    for (auto row = static_cast<size_t>(static_cast<int64_t>(log.size()) - first);
         row < rows.size(); ++row) {
      log.push_back(rows[row]);
    }
  }

  std::deque<ByteBuffer> on_the_way_;
  std::vector<Value> late_;  // A question that waits for its answer.
  int late_deliveries_ = 0;  // Calls of Deliver since then.
};

class FeedTest : public testing::Test {
 protected:
  FeedTest() { InitLogging("test", LogLevel::kOff); }

  // 1,100 updates, due one per millisecond.
  static SimOptions Options(int64_t batch_rows = 10) {
    SimOptions options;
    options.rows = 1'100;
    options.rate = 1'000;
    options.symbols = 50;
    options.batch_rows = batch_rows;
    return options;
  }

  static std::unique_ptr<Feed> Make(const SimOptions& options = Options(),
                                    FeedSettings settings = {}) {
    absl::StatusOr<std::unique_ptr<SimSource>> source = SimSource::Create(options);
    EXPECT_TRUE(source.ok());
    settings.name = "me";
    return std::make_unique<Feed>(settings, *std::move(source));
  }

  static RowsByTable Expected() {
    absl::StatusOr<std::unique_ptr<SimSource>> source = SimSource::Create(Options());
    EXPECT_TRUE(source.ok());
    (*source)->Start(0);
    RowsByTable rows;
    EXPECT_TRUE(Drain(**source, kNsPerDay, rows).ok());
    return rows;
  }

  Value Stat(const Feed& feed, std::string_view name) {
    const Value stats = feed.Stats(now_ns_);
    const SymbolVector& names = stats.keys().symbols();
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return stats.values().items()[i];
    }
    ADD_FAILURE() << "no " << name;
    return Value();
  }

  // Polls and delivers every `step_ns` until the feed has finished, or `at_most_ns` are over.
  void Run(Feed& feed, int64_t at_most_ns = 60 * kNsPerSecond, int64_t step_ns = kMs) {
    for (const int64_t end_ns = now_ns_ + at_most_ns; now_ns_ < end_ns && !feed.finished();
         now_ns_ += step_ns) {
      feed.Poll(now_ns_);
      tickerplant_.Deliver(feed, now_ns_);
    }
  }

  ModelTickerplant tickerplant_;
  int64_t now_ns_ = 0;
};

TEST_F(FeedTest, PublishesEverythingAndConfirmsIt) {
  const std::unique_ptr<Feed> feed = Make();
  feed->OnConnected(&tickerplant_, now_ns_);
  EXPECT_EQ(feed->Poll(now_ns_), kNeverDue);
  EXPECT_EQ(tickerplant_.on_the_way(), 0u);
  feed->Start(now_ns_);
  Run(*feed);
  EXPECT_EQ(feed->state(), FeedState::kDone);
  ExpectSameRows(tickerplant_.logged, Expected());
  EXPECT_EQ(Stat(*feed, "state"), Value::Symbol("done"));
  EXPECT_EQ(Stat(*feed, "logged"),
            Value::Dict(Value::Symbols({"trade", "quote"}), Value::Longs({100, 1'000})));
  EXPECT_EQ(Stat(*feed, "refused"), Value::Long(0));
}

TEST_F(FeedTest, WaitsForItsNameWhileAnotherFeedHasIt) {
  const std::unique_ptr<Feed> feed = Make(Options(), {.instance = "mine"});
  tickerplant_.owner = "other";
  feed->OnConnected(&tickerplant_, now_ns_);
  feed->Start(now_ns_);
  Run(*feed, 3 * kNsPerSecond);
  EXPECT_EQ(feed->state(), FeedState::kHeld);
  EXPECT_EQ(Stat(*feed, "state"), Value::Symbol("held"));
  EXPECT_THAT(std::string(Stat(*feed, "error").text()), HasSubstr("held by other"));
  EXPECT_TRUE(tickerplant_.logged.empty());
  const int64_t asked_next_ns = feed->Poll(now_ns_);
  EXPECT_LE(asked_next_ns, now_ns_ + Feed::kHeldNsMax);
  EXPECT_GT(asked_next_ns, now_ns_);

  // A lost connection changes nothing; then the other feed is gone.
  feed->OnDisconnected(now_ns_);
  feed->OnConnected(&tickerplant_, now_ns_);
  Run(*feed, kNsPerSecond);
  EXPECT_EQ(feed->state(), FeedState::kHeld);
  tickerplant_.owner.clear();
  Run(*feed);
  EXPECT_EQ(feed->state(), FeedState::kDone);
  EXPECT_EQ(tickerplant_.takeovers, 0);
  ExpectSameRows(tickerplant_.logged, Expected(), /*times=*/false);
}

TEST_F(FeedTest, TakesItsNameOverOnce) {
  const std::unique_ptr<Feed> feed = Make(Options(), {.instance = "mine", .take_over = true});
  tickerplant_.owner = "other";
  feed->OnConnected(&tickerplant_, now_ns_);
  feed->Start(now_ns_);
  Run(*feed, 100 * kMs);
  EXPECT_EQ(feed->state(), FeedState::kPublishing);
  EXPECT_EQ(tickerplant_.takeovers, 1);
  // After a broken connection, it asks like any other feed.
  tickerplant_.LoseAll();
  feed->OnDisconnected(now_ns_);
  feed->OnConnected(&tickerplant_, now_ns_);
  Run(*feed);
  EXPECT_EQ(tickerplant_.takeovers, 1);
  ExpectSameRows(tickerplant_.logged, Expected());
}

TEST_F(FeedTest, FailsWhenAnotherFeedTookItsNameOver) {
  const std::unique_ptr<Feed> feed = Make(Options(), {.instance = "mine"});
  feed->OnConnected(&tickerplant_, now_ns_);
  feed->Start(now_ns_);
  Run(*feed, 100 * kMs);
  ASSERT_EQ(feed->state(), FeedState::kPublishing);
  EXPECT_FALSE(feed->taken_over());
  feed->OnRefused("taken: feed me was taken over by 10.0.0.7:1", now_ns_);
  EXPECT_EQ(feed->state(), FeedState::kFailed);
  EXPECT_TRUE(feed->taken_over());
  EXPECT_THAT(std::string(Message(feed->error())), HasSubstr("taken over by 10.0.0.7:1"));
  // It does not reconnect.
  feed->OnDisconnected(now_ns_);
  feed->OnConnected(&tickerplant_, now_ns_);
  EXPECT_EQ(feed->Poll(now_ns_ + kNsPerSecond), kNeverDue);
}

TEST_F(FeedTest, StartsOnceConnectedWhicheverComesFirst) {
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(now_ns_);
  EXPECT_EQ(feed->Poll(now_ns_), kNeverDue);
  feed->OnConnected(&tickerplant_, now_ns_);
  Run(*feed);
  ExpectSameRows(tickerplant_.logged, Expected());
}

TEST_F(FeedTest, AsksToBeCalledWhenTheNextRowIsDue) {
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  tickerplant_.Deliver(*feed, 0);
  EXPECT_EQ(feed->Poll(0), kMs);
  EXPECT_EQ(feed->Poll(kMs), 2 * kMs);
  EXPECT_EQ(tickerplant_.on_the_way(), 2u);
}

TEST_F(FeedTest, WithABatchTimeRowsLeaveTogetherAndAtMostSoMuchLater) {
  const std::unique_ptr<Feed> feed = Make(Options(100), {.batch_ns = 20 * kMs});
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  tickerplant_.Deliver(*feed, 0);
  EXPECT_EQ(feed->Poll(0), 20 * kMs);
  tickerplant_.Deliver(*feed, 0);
  EXPECT_EQ(tickerplant_.logged["quote"].size(), 1u);
  EXPECT_EQ(feed->Poll(7 * kMs), 20 * kMs);
  EXPECT_EQ(tickerplant_.on_the_way(), 0u);
  EXPECT_EQ(feed->Poll(23 * kMs), 40 * kMs);  // One late call does not move the grid.
  tickerplant_.Deliver(*feed, 23 * kMs);
  EXPECT_EQ(tickerplant_.logged["quote"].size() + tickerplant_.logged["trade"].size(), 24u);
}

// A timer does not follow the clock that rows are due by, so the feed looks at that often enough.
TEST_F(FeedTest, ASetClockSilencesItForASecondAtMost) {
  const int64_t hour_ns = 3600 * kNsPerSecond;
  now_ns_ = hour_ns;
  const std::unique_ptr<Feed> feed = Make();
  feed->OnConnected(&tickerplant_, now_ns_);
  feed->Start(now_ns_);
  Run(*feed, 100 * kMs);
  now_ns_ -= hour_ns;  // The next rows are due in an hour.
  tickerplant_.Deliver(*feed, now_ns_);
  int64_t call_ns = feed->Poll(now_ns_);
  EXPECT_LE(call_ns, now_ns_ + kNsPerSecond);
  now_ns_ = call_ns;
  feed->Poll(now_ns_);
  EXPECT_GT(tickerplant_.on_the_way(), 0u);  // It asks what is logged.
  now_ns_ += hour_ns;                        // Corrected.
  Run(*feed);
  ExpectSameRows(tickerplant_.logged, Expected(), /*times=*/false);
}

TEST_F(FeedTest, StopsGeneratingWhileTheQueueIsFull) {
  const std::unique_ptr<Feed> feed = Make(Options(), {.queue_bytes_max = 1'000});
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  tickerplant_.Deliver(*feed, 0);
  tickerplant_.unsent_bytes = 1'000;
  now_ns_ = 50 * kMs;
  EXPECT_EQ(feed->Poll(now_ns_), now_ns_ + Feed::kQueueFullNs);
  EXPECT_EQ(tickerplant_.on_the_way(), 0u);
  EXPECT_EQ(Stat(*feed, "queue_full"), Value::Long(1));
  EXPECT_EQ(Stat(*feed, "lag_ms"), Value::Float(50));
  tickerplant_.unsent_bytes = 0;
  feed->Poll(now_ns_);
  EXPECT_GT(tickerplant_.on_the_way(), 0u);
  Run(*feed);
  ExpectSameRows(tickerplant_.logged, Expected());
}

TEST_F(FeedTest, ComesBackToItsCallerHoweverMuchIsDue) {
  SimOptions options = Options(2'400);
  options.rows = 1'000'000;
  options.rate = 0;
  const std::unique_ptr<Feed> feed = Make(options);
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  tickerplant_.Deliver(*feed, 0);
  EXPECT_EQ(feed->Poll(5), 5);
  int64_t rows = 0;
  for (const auto& [table, sent] : feed->rows_sent()) rows += sent;
  EXPECT_GT(rows, 50'000);
  EXPECT_LT(rows, 200'000);
}

TEST_F(FeedTest, AfterAReconnectTheRowsKeepTheTimeAtWhichTheyWereDue) {
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed, 300 * kMs);
  feed->OnDisconnected(now_ns_);
  tickerplant_.LoseAll();
  EXPECT_EQ(feed->Poll(now_ns_), kNeverDue);
  now_ns_ += 500 * kMs;
  feed->OnConnected(&tickerplant_, now_ns_);
  Run(*feed);
  ExpectSameRows(tickerplant_.logged, Expected());
  EXPECT_EQ(Stat(*feed, "reconnects"), Value::Long(1));
  EXPECT_GT(Stat(*feed, "lag_ms_max").as<double>(), 400);
}

TEST_F(FeedTest, ARestartedFeedGoesOnWhereTheOldOneStopped) {
  SimOptions options = Options();
  options.rate = 0;  // Times are when a row was made; the rest of the row must agree.
  {
    const std::unique_ptr<Feed> old = Make(options, {.queue_bytes_max = 20'000});
    old->Start(0);
    old->OnConnected(&tickerplant_, 0);
    tickerplant_.Deliver(*old, 0);
    old->Poll(0);
    tickerplant_.Deliver(*old, 0, 3);
    tickerplant_.LoseAll();
  }
  ASSERT_GT(tickerplant_.logged["quote"].size(), 0u);
  ASSERT_LT(tickerplant_.logged["quote"].size(), 1'000u);
  const std::unique_ptr<Feed> feed = Make(options);
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed);
  ExpectSameRows(tickerplant_.logged, Expected(), false);
}

// Goal: exactly once, whatever happens to connections and messages. Method: at random, the network
// delivers some messages or breaks (losing messages on their way), or the tickerplant refuses a
// message. At the end the log must have the rows of an undisturbed run.
TEST_F(FeedTest, EveryRowIsLoggedOnceWhateverTheNetworkDoes) {
  const RowsByTable expected = Expected();
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    ModelTickerplant tickerplant;
    const std::unique_ptr<Feed> feed = Make(Options(static_cast<int64_t>(1 + rng() % 50)),
                                            {.batch_ns = static_cast<int64_t>(rng() % 3) * kMs});
    feed->Start(0);
    bool connected = false;
    int64_t now_ns = 0;
    for (int step = 0; step < 100'000 && !feed->finished(); ++step) {
      now_ns += static_cast<int64_t>(rng() % static_cast<uint64_t>(3 * kMs));
      const uint64_t dice = rng() % 100;
      if (connected && dice == 0) {
        feed->OnDisconnected(now_ns);
        tickerplant.LoseAll();
        connected = false;
      } else if (!connected && dice < 20) {
        feed->OnConnected(&tickerplant, now_ns);
        connected = true;
      } else if (dice == 1 && tickerplant.refuse_times == 0) {
        tickerplant.refuse_row =
            static_cast<int64_t>(tickerplant.logged["quote"].size() + rng() % 9);
        tickerplant.refuse_times = static_cast<int>(rng() % 2);
      } else if (dice < 50) {
        feed->Poll(now_ns);
      } else if (connected) {
        tickerplant.Deliver(*feed, now_ns, rng() % 9);
      }
    }
    EXPECT_EQ(feed->state(), FeedState::kDone) << Message(feed->error());
    ExpectSameRows(tickerplant.logged, expected, false);
  }
}

TEST_F(FeedTest, RowsThatWereRefusedOnceAreSentAgain) {
  tickerplant_.refuse_row = 500;
  tickerplant_.refuse_times = 1;
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed);
  EXPECT_EQ(feed->state(), FeedState::kDone);
  ExpectSameRows(tickerplant_.logged, Expected());
  EXPECT_GT(Stat(*feed, "refused").as<int64_t>(), 0);
}

// A tickerplant with standbys answers when rows are logged, and refuses others at once.
// Goal: such a refusal, of the last rows, is not forgotten when the answer comes. Otherwise, 2 s
// pass until it is noticed.
TEST_F(FeedTest, ARefusalThatOvertakesAnAnswerIsNotForgotten) {
  tickerplant_.answers_after = 200;
  tickerplant_.refuse_row = 995;
  tickerplant_.refuse_times = 1;
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed);
  EXPECT_EQ(feed->state(), FeedState::kDone);
  EXPECT_GT(Stat(*feed, "refused").as<int64_t>(), 0);
  EXPECT_LT(now_ns_, 3 * kNsPerSecond);
}

TEST_F(FeedTest, FailsVisiblyWhenARowIsRefusedAgainAndAgain) {
  tickerplant_.refuse_row = 500;
  tickerplant_.refuse_times = 1'000;
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed);
  EXPECT_EQ(feed->state(), FeedState::kFailed);
  EXPECT_THAT(std::string(Message(feed->error())), HasSubstr("type: quote.bid"));
  EXPECT_EQ(Stat(*feed, "state"), Value::Symbol("failed"));
  EXPECT_THAT(std::string(Stat(*feed, "error").text()), HasSubstr("refuses rows"));
  EXPECT_LE(tickerplant_.logged["quote"].size(), 500u);
}

// A tickerplant that does not report refusals: the acknowledgements show them.
TEST_F(FeedTest, NoticesRowsThatSilentlyNeverArrive) {
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed, 100 * kMs);
  now_ns_ += 10 * kMs;
  feed->Poll(now_ns_);
  ASSERT_GT(tickerplant_.on_the_way(), 0u);
  tickerplant_.LoseAll();
  Run(*feed);
  EXPECT_EQ(feed->state(), FeedState::kDone);
  ExpectSameRows(tickerplant_.logged, Expected());
  EXPECT_GT(Stat(*feed, "refused").as<int64_t>(), 0);
}

TEST_F(FeedTest, FailsWhenLoggedRowsDisappearUnderItsConnection) {
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed, 1'050 * kMs);
  ASSERT_EQ(feed->state(), FeedState::kPublishing);
  tickerplant_.logged.clear();
  Run(*feed);
  EXPECT_EQ(feed->state(), FeedState::kFailed);
  EXPECT_THAT(std::string(Message(feed->error())), HasSubstr("before on this connection"));
}

TEST_F(FeedTest, SpeaksPlainUpdToATickerplantWithoutNumbers) {
  tickerplant_.numbers = false;
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed);
  EXPECT_EQ(feed->state(), FeedState::kDone);
  ExpectSameRows(tickerplant_.logged, Expected());
  EXPECT_EQ(Stat(*feed, "numbered"), Value::Boolean(false));
}

TEST_F(FeedTest, APlainFeedDoesNotRepeatItselfAfterAReconnect) {
  tickerplant_.numbers = false;
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed, 300 * kMs);
  tickerplant_.Deliver(*feed, now_ns_);
  feed->OnDisconnected(now_ns_);
  feed->OnConnected(&tickerplant_, now_ns_);
  Run(*feed);
  ExpectSameRows(tickerplant_.logged, Expected());
}

TEST_F(FeedTest, AsksAgainAfterAnErrorThatIsNotAboutItsFunction) {
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  tickerplant_.LoseAll();
  feed->OnAnswer(absl::UnknownError("access"), 0);
  EXPECT_EQ(feed->state(), FeedState::kAsking);
  EXPECT_EQ(feed->Poll(0), Feed::kReceiptNs);
  Run(*feed);
  ExpectSameRows(tickerplant_.logged, Expected(), false);
}

TEST_F(FeedTest, AnAnswerThatIsNoDictionaryOfLongsFailsIt) {
  for (const Value& answer :
       {Value::Long(1), Value::Dict(Value::Symbols({"a"}), Value::List({Value()})),
        Value::Dict(Value::Longs({1}), Value::Longs({1}))}) {
    const std::unique_ptr<Feed> feed = Make();
    feed->Start(0);
    feed->OnConnected(&tickerplant_, 0);
    feed->OnAnswer(answer, 0);
    EXPECT_EQ(feed->state(), FeedState::kFailed);
  }
}

TEST_F(FeedTest, AnAnswerOfAnOldConnectionIsNothing) {
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  feed->OnDisconnected(0);
  feed->OnAnswer(Value::Long(1), 0);
  EXPECT_EQ(feed->state(), FeedState::kAsking);
}

TEST_F(FeedTest, ComesBackFromDoneWhenANewTickerplantHasLessRows) {
  const std::unique_ptr<Feed> feed = Make();
  feed->Start(0);
  feed->OnConnected(&tickerplant_, 0);
  Run(*feed);
  feed->OnDisconnected(now_ns_);
  tickerplant_.logged.clear();
  feed->OnConnected(&tickerplant_, now_ns_);
  Run(*feed);
  ExpectSameRows(tickerplant_.logged, Expected());
}

// A source that fails after three rows.
class BrokenSource final : public Source {
 public:
  void Start(int64_t) override {}
  absl::StatusOr<const FeedBatch*> Next(int64_t) override {
    if (row_ == 3) return absl::DataLossError("line 4: nonsense");
    batch_ = {"quote", row_++, 1, 0, data_.span()};
    return &batch_;
  }
  int64_t next_due_ns() const override { return kAlwaysDue; }
  absl::Status Rewind(const NameMap<int64_t>& done) override {
    row_ = done.find("quote")->second;
    return absl::OkStatus();
  }
  const std::vector<std::string>& tables() const override { return tables_; }
  std::string Describe() const override { return "broken"; }

 private:
  std::vector<std::string> tables_{"quote"};
  int64_t row_ = 0;
  ByteBuffer data_ = [] {
    ByteBuffer data;
    wire::Encode(Value::List({Value::Long(1)}), data);
    return data;
  }();
  FeedBatch batch_;
};

// A source that finds a row in every 16th call only.
class SparseSource final : public Source {
 public:
  static constexpr int64_t kRows = 50;
  void Start(int64_t) override {}
  absl::StatusOr<const FeedBatch*> Next(int64_t) override {
    if (row_ == kRows || ++calls_ % 16 != 0) return nullptr;
    batch_ = {"quote", row_++, 1, 0, data_.span()};
    return &batch_;
  }
  int64_t next_due_ns() const override { return row_ == kRows ? kNeverDue : kAlwaysDue; }
  absl::Status Rewind(const NameMap<int64_t>& done) override {
    row_ = done.find("quote")->second;
    return absl::OkStatus();
  }
  const std::vector<std::string>& tables() const override { return tables_; }
  std::string Describe() const override { return "sparse"; }

 private:
  std::vector<std::string> tables_{"quote"};
  int64_t row_ = 0, calls_ = 0;
  ByteBuffer data_ = [] {
    ByteBuffer data;
    wire::Encode(Value::List({Value::Long(1)}), data);
    return data;
  }();
  FeedBatch batch_;
};

// Goal: due rows do not wait for the next batch because the source needs another call.
// Method: batches of a minute, and a source that needs 16 calls for a row.
TEST_F(FeedTest, CallsASourceAgainThatIsStillDue) {
  Feed feed({.name = "me", .batch_ns = 60 * kNsPerSecond}, std::make_unique<SparseSource>());
  feed.Start(0);
  feed.OnConnected(&tickerplant_, 0);
  Run(feed, 5 * kNsPerSecond);
  EXPECT_EQ(feed.state(), FeedState::kDone);
  EXPECT_EQ(tickerplant_.logged["quote"].size(), static_cast<size_t>(SparseSource::kRows));
}

TEST_F(FeedTest, AsksToWaitForSlowSubscribersIfItsSourceHasNoPace) {
  Feed unpaced({.name = "me", .window_rows = 1000}, std::make_unique<BrokenSource>());
  unpaced.Start(0);
  unpaced.OnConnected(&tickerplant_, 0);
  Run(unpaced);
  tickerplant_.Deliver(unpaced, now_ns_);
  EXPECT_THAT(tickerplant_.windows, testing::ElementsAre(1000));

  ModelTickerplant other;
  const std::unique_ptr<Feed> paced = Make(Options(), {.window_rows = 1000});
  paced->Start(now_ns_);
  paced->OnConnected(&other, now_ns_);
  other.Deliver(*paced, now_ns_);
  paced->Poll(now_ns_);
  other.Deliver(*paced, now_ns_);
  EXPECT_THAT(other.windows, testing::IsEmpty());
}

// A live source whose spool cannot be written.
class BrokenLiveSource final : public Source, public LiveInput {
 public:
  void Start(int64_t) override {}
  absl::StatusOr<const FeedBatch*> Next(int64_t) override {
    if (works) return nullptr;
    return absl::ResourceExhaustedError("the disk is full");
  }
  int64_t next_due_ns() const override { return works ? kNotDueYet : kAlwaysDue; }
  absl::Status Rewind(const NameMap<int64_t>&) override { return absl::OkStatus(); }
  const std::vector<std::string>& tables() const override { return tables_; }
  std::string Describe() const override { return "live"; }
  LiveInput* live_input() override { return this; }
  int fd() const override { return -1; }
  int64_t Receive(int64_t) override { return kNeverDue; }

  bool works = true;

 private:
  std::vector<std::string> tables_{"quote"};
};

TEST_F(FeedTest, ALiveSourceThatFailsWithoutATickerplantEndsTheFeed) {
  auto source = std::make_unique<BrokenLiveSource>();
  bool& works = source->works;
  Feed feed({.name = "me"}, std::move(source));
  feed.Start(0);
  feed.OnConnected(&tickerplant_, 0);
  Run(feed, kNsPerSecond);
  feed.OnDisconnected(now_ns_);
  feed.Poll(now_ns_);
  EXPECT_EQ(feed.state(), FeedState::kAsking);
  works = false;
  feed.Poll(now_ns_);
  EXPECT_EQ(feed.state(), FeedState::kFailed);
  EXPECT_EQ(feed.error().message(), "the disk is full");
}

TEST_F(FeedTest, ABrokenSourceFailsAfterItsGoodRowsWereSent) {
  Feed feed({.name = "me"}, std::make_unique<BrokenSource>());
  feed.Start(0);
  feed.OnConnected(&tickerplant_, 0);
  Run(feed);
  tickerplant_.Deliver(feed, now_ns_);
  EXPECT_EQ(feed.state(), FeedState::kFailed);
  EXPECT_EQ(Message(feed.error()), "line 4: nonsense");
  EXPECT_EQ(tickerplant_.logged["quote"].size(), 3u);
}

// Goal: a tickerplant that counted one source's rows never takes another source's rows for them.
// Method: options that change the rows change the name, and others do not.
TEST(NumberedName, SaysWhichRowsTheseAre) {
  SimOptions sim;
  EXPECT_EQ(NumberedName("feed", sim), "feed@sim.march2020.8000.1");
  SimOptions faster = sim;
  faster.rate = 1e6;
  faster.batch_rows = 1;
  EXPECT_EQ(NumberedName("feed", faster), NumberedName("feed", sim));
  SimOptions seeded = sim;
  seeded.seed = 2;
  EXPECT_NE(NumberedName("feed", seeded), NumberedName("feed", sim));

  LeanOptions lean;
  lean.date = "2013.10.07";
  lean.symbols = {"aig", "bac"};
  EXPECT_EQ(NumberedName("f", lean), "f@lean.2013.10.07.aig,bac");
  LeanOptions next_day = lean;
  next_day.date = "2013.10.08";
  EXPECT_NE(NumberedName("f", next_day), NumberedName("f", lean));
  lean.symbols.assign(1000, "spy");
  LeanOptions one_more = lean;
  one_more.symbols.emplace_back("spy");
  EXPECT_LT(NumberedName("f", lean).size(), 40u);
  EXPECT_NE(NumberedName("f", lean), NumberedName("f", one_more));

  TplogOptions log;
  log.path = "/data/sym2013.10.07";
  EXPECT_EQ(NumberedName("f", log), "f@tplog./data/sym2013.10.07");
}

}  // namespace
}  // namespace tickstack::feed
