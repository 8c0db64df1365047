#include "tickerplant/chained/upstream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <random>

#include "base/file.h"
#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/chained/upstream_mark.h"
#include "tickerplant/standby/replication_for_test.h"
#include "tickerplant/tickerplant_service.h"
#include "tplog/tplog_reader.h"
#include "tplog/tplog_state.h"
#include "wire/client.h"
#include "wire/codec.h"
#include "wire/simulation.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr int64_t kNowNs = 9'500 * kNsPerDay + 15 * 3600 * kNsPerSecond;  // In 2026.

class Peer : public wire::ClientHandler {
 public:
  void OnConnected(wire::Connection&) override {}
  void OnMessage(wire::Connection&, const wire::ReceivedMessage& message) override {
    messages.push_back(*wire::Decode(message.body));
  }
  void OnClosed(wire::Connection&, const absl::Status&) override {}
  std::vector<Value> messages;
};

// A tickerplant that can be started again.
class Plant {
 public:
  Plant(wire::EventLoop& loop, std::string directory) : loop_(loop), directory_(directory) {}

  // With an address, it copies the tickerplant there.
  absl::Status Start(int32_t date, std::optional<uint16_t> upstream = std::nullopt,
                     std::vector<std::string> symbols = {}) {
    if (!upstream) return StartWith(date, std::nullopt);
    UpstreamOptions options;
    options.address = {"127.0.0.1", *upstream, ""};
    options.symbols = std::move(symbols);
    return StartWith(date, options);
  }
  absl::Status StartWith(int32_t date, const std::optional<UpstreamOptions>& upstream) {
    TickerplantOptions options;
    options.schemas = schemas;
    options.log_directory = directory_;
    options.follows_upstream = upstream.has_value();
    TS_ASSIGN_OR_RETURN(
        std::unique_ptr<Tickerplant> plant,
        Tickerplant::Open(options, *DayClock::Create("UTC", 0, date), &loop_.clock()));
    service_ = std::make_unique<TickerplantService>(
        loop_, std::move(plant), BatchClock(1'000'000, std::nullopt, loop_.clock().NowNs()),
        [](const absl::Status&) {});
    TS_ASSIGN_OR_RETURN(server_,
                        wire::Server::Listen(loop_, {"127.0.0.1", port_, ""}, {}, service_.get()));
    port_ = server_->port();
    if (epoch > 0) service_->Lead(std::make_unique<FakeReplication>(epoch));
    return upstream ? service_->Follow(*upstream) : absl::OkStatus();
  }
  // Ends as a killed process does: what it has not logged is lost, and it writes no mark.
  void Kill() {
    server_.reset();
    service_.reset();
  }
  void Close() {
    EXPECT_TRUE(service_->Close().ok());
    Kill();
  }

  uint16_t port() const { return port_; }
  TickerplantService& service() { return *service_; }
  Tickerplant& plant() { return service_->plant(); }
  const std::string& directory() const { return directory_; }

  uint64_t epoch = 0;  // A leader's number; 0: it has no standbys.
  std::vector<Schema> schemas = {*ParseSchema("trade", "time p, sym s, n j"),
                                 *ParseSchema("quote", "time p, sym s, n j")};

 private:
  wire::EventLoop& loop_;
  const std::string directory_;
  uint16_t port_ = 0;
  std::unique_ptr<TickerplantService> service_;
  std::unique_ptr<wire::Server> server_;
};

class UpstreamTest : public testing::Test {
 protected:
  static constexpr int32_t kDay = 7373;  // 2020.03.09.

  UpstreamTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("upstream_test." + std::to_string(::getpid()) + "." +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    InitLogging("test", LogLevel::kOff);
    std::filesystem::remove_all(directory_);
  }
  ~UpstreamTest() override {
    clients_.clear();
    chained_.Kill();
    up_.Kill();
    std::filesystem::remove_all(directory_);
  }

  void StartBoth(std::vector<std::string> symbols = {}) {
    ASSERT_TRUE(up_.Start(kDay).ok());
    ASSERT_TRUE(chained_.Start(kDay, up_.port(), std::move(symbols)).ok());
  }
  // Logs rows of both tables at the upstream, with numbers that count up and the name A or B.
  void Publish(int messages, std::string_view name = "A") {
    for (int i = 0; i < messages; ++i) {
      auto body = std::make_shared<ByteBuffer>();
      const Value row =
          Value::List({Value::Timestamp(5), Value::Symbol(name), Value::Long(number_)});
      const std::string_view table = number_++ % 3 == 0 ? "quote" : "trade";
      wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol(table), row}), *body);
      ASSERT_TRUE(up_.plant().StageUpd(*body, body).ok());
    }
    ASSERT_TRUE(up_.plant().Commit().ok());
  }
  bool Until(const std::function<bool()>& done) { return simulation_.RunUntil(done, 60s); }
  std::string Said(std::string_view key) {
    const Value stats = *chained_.service().UpstreamStats();
    for (size_t i = 0; i < stats.keys().symbols().size(); ++i) {
      if (stats.keys().symbols()[i] != key) continue;
      const Value& value = stats.values().items()[i];
      if (value.is_string()) return std::string(value.text());
      if (value.is_atom_of(Type::kSymbol)) return std::string(value.symbol());
      return std::to_string(value.as<int64_t>());
    }
    return "no such key";
  }
  bool HasAll() {
    return chained_.plant().date() == up_.plant().date() && Said("state") == "live" &&
           Said("messages") == std::to_string(up_.plant().logged_seq());
  }
  // Numbers of the rows in a log, in its order.
  static std::vector<int64_t> NumbersIn(const Plant& plant, std::string_view day,
                                        std::string_view of_table = "") {
    std::vector<int64_t> numbers;
    auto reader = tplog::TplogReader::Open(fmt::format("{}/sym{}", plant.directory(), day));
    while (reader.ok()) {
      const auto message = (*reader)->Next();
      if (!message.ok() || !message->has_value()) break;
      const Value upd = *wire::Decode((*message)->body);
      if (!of_table.empty() && upd.items()[1].symbol() != of_table) continue;
      const Value& n = upd.items()[2].items()[2];
      if (n.is_atom_of(Type::kLong)) {
        numbers.push_back(n.as<int64_t>());
      } else {
        for (const int64_t each : n.span<int64_t>()) numbers.push_back(each);
      }
    }
    return numbers;
  }
  // Numbers of the trades with this name, whose messages have one row each.
  static std::vector<int64_t> TradesOf(const Plant& plant, std::string_view day,
                                       std::string_view name) {
    std::vector<int64_t> numbers;
    auto reader = tplog::TplogReader::Open(fmt::format("{}/sym{}", plant.directory(), day));
    while (reader.ok()) {
      const auto message = (*reader)->Next();
      if (!message.ok() || !message->has_value()) break;
      const Value upd = *wire::Decode((*message)->body);
      const std::vector<Value>& row = upd.items()[2].items();
      if (upd.items()[1].symbol() != "trade" || row[1].symbol() != name) continue;
      numbers.push_back(row[2].as<int64_t>());
    }
    return numbers;
  }
  void ExpectSameLogs(std::string_view day) {
    EXPECT_EQ(NumbersIn(up_, day), NumbersIn(chained_, day));
  }
  wire::Connection& Connect(uint16_t port, Peer& peer) {
    clients_.push_back(std::make_unique<wire::Client>(loop_, wire::Address{"127.0.0.1", port, ""},
                                                      wire::ClientOptions{}, &peer));
    EXPECT_TRUE(Until([&] { return clients_.back()->connection() != nullptr; }));
    return *clients_.back()->connection();
  }
  absl::StatusOr<Value> Ask(wire::Connection& connection, std::string_view q) {
    std::optional<absl::StatusOr<Value>> answer;
    connection.Call(Value::String(q), [&](absl::StatusOr<Value> a) { answer = std::move(a); });
    EXPECT_TRUE(Until([&] { return answer.has_value(); }));
    return *std::move(answer);
  }

  const std::string directory_;
  wire::Simulation simulation_{kNowNs};
  wire::EventLoop& loop_ = simulation_.loop();
  Plant up_{loop_, directory_ + "/up"};
  Plant chained_{loop_, directory_ + "/chained"};
  int64_t number_ = 0;
  std::vector<std::unique_ptr<wire::Client>> clients_;
};

TEST_F(UpstreamTest, CopiesWhatIsThereAndWhatComes) {
  ASSERT_TRUE(up_.Start(kDay).ok());
  Publish(30);
  ASSERT_TRUE(chained_.Start(kDay, up_.port()).ok());
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("state") << Said("error");
  Publish(30);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  EXPECT_EQ(Said("behind_messages"), "0");
  ExpectSameLogs("2020.03.09");
  EXPECT_EQ(NumbersIn(chained_, "2020.03.09").size(), 60);
}

TEST_F(UpstreamTest, TakesOnlyItsTablesAndSymbols) {
  chained_.schemas = {chained_.schemas[0]};
  StartBoth({"B"});
  Publish(10, "A");
  Publish(10, "B");
  Publish(10, "A");
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  std::vector<int64_t> expected;
  for (int64_t number = 10; number < 20; ++number) {
    if (number % 3 != 0) expected.push_back(number);
  }
  EXPECT_EQ(NumbersIn(chained_, "2020.03.09"), expected);
}

// Goal: rows are there once and in their day's log, whoever is killed, with an old mark, a new one
// and none. Method: random kills of both, with rows in between; the upstream often continues with
// another day.
TEST_F(UpstreamTest, ContinuesExactlyAfterKills) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    SCOPED_TRACE(seed);
    std::filesystem::remove_all(directory_);
    std::mt19937_64 rng(seed);
    number_ = 0;
    int32_t day = kDay;
    chained_.schemas = {*ParseSchema("trade", "time p, sym s, n j")};
    StartBoth({"A"});
    for (int life = 0; life < 12; ++life) {
      for (int i = 0; i < 4; ++i) Publish(static_cast<int>(rng() % 20), rng() % 2 == 0 ? "A" : "B");
      simulation_.RunFor(std::chrono::milliseconds(rng() % 3000));
      if (rng() % 2 == 0) {
        up_.Kill();
        simulation_.RunFor(std::chrono::milliseconds(rng() % 100));
        day += rng() % 3 == 0 ? 1 : 0;
        ASSERT_TRUE(up_.Start(day).ok());
      } else {
        rng() % 2 == 0 ? chained_.Kill() : chained_.Close();
        if (rng() % 3 == 0) {
          std::filesystem::remove(
              UpstreamMarkPath(fmt::format("{}/sym{}", chained_.directory(), FormatDate(kDay))));
        }
        // Days that have ended there are not opened again.
        const absl::Status started = chained_.Start(kDay, up_.port(), {"A"});
        ASSERT_TRUE(started.ok()) << started;
      }
    }
    ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("state") << Said("error");
    size_t rows = 0;
    for (int32_t each = kDay; each <= day; ++each) {
      const std::vector<int64_t> expected = TradesOf(up_, FormatDate(each), "A");
      EXPECT_EQ(NumbersIn(chained_, FormatDate(each)), expected) << FormatDate(each);
      rows += expected.size();
    }
    EXPECT_GT(rows, 10U);
    chained_.Kill();
    up_.Kill();
  }
}

TEST_F(UpstreamTest, EndsTheDayAfterItsRowsAndTheRowsOfClosers) {
  StartBoth();
  Peer subscriber, closer;
  Ask(Connect(chained_.port(), subscriber), "count .u.sub[`;`]").IgnoreError();
  wire::Connection& publishing = Connect(chained_.port(), closer);
  ASSERT_TRUE(Ask(publishing, ".u.closer[`bars]").ok());
  Publish(20);
  ASSERT_TRUE(up_.plant().EndDay().ok());
  Publish(20);
  ASSERT_TRUE(Until([&] { return !closer.messages.empty(); }));
  EXPECT_EQ(closer.messages.front().items()[0], Value::Symbol(".u.closing"));
  EXPECT_EQ(NumbersIn(chained_, "2020.03.09").size(), 20);
  ASSERT_TRUE(Ask(publishing, "`trade .u.upd (2020.03.09D23:59:59;`BAR;-1)").ok() ||
              Ask(publishing, ".u.upd[`trade;(2020.03.09D23:59:59;`BAR;-1)]").ok());
  ASSERT_TRUE(Ask(publishing, ".u.closed[`bars;2020.03.09]").ok());
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("state") << Said("error");
  EXPECT_EQ(NumbersIn(chained_, "2020.03.09").back(), -1);
  ExpectSameLogs("2020.03.10");
  // The subscriber has 21 rows, the end, then 20 rows.
  ASSERT_TRUE(Until([&] {
    size_t rows = 0;
    for (const Value& message : subscriber.messages) {
      if (message.items()[0].symbol() == "upd") rows += message.items()[2].count();
    }
    return rows == 41;
  }));
  size_t before = 0;
  for (const Value& message : subscriber.messages) {
    if (message.items()[0].symbol() == ".u.end") break;
    before += message.items()[2].count();
  }
  EXPECT_EQ(before, 21);
}

TEST_F(UpstreamTest, CopiesDaysThatEndedMeanwhile) {
  StartBoth();
  Publish(10);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  chained_.Kill();
  Publish(10);
  ASSERT_TRUE(up_.plant().EndDay().ok());
  Publish(10);
  up_.Close();
  ASSERT_TRUE(up_.Start(kDay + 3).ok());
  Publish(10);
  ASSERT_TRUE(chained_.Start(kDay, up_.port()).ok());
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("state") << Said("error");
  for (const std::string_view day : {"2020.03.09", "2020.03.10", "2020.03.12"}) ExpectSameLogs(day);
  EXPECT_EQ(NumbersIn(chained_, "2020.03.09").size(), 20);
  EXPECT_EQ(Said("days_skipped"), "1");
  EXPECT_EQ(Said("days_missing"), "0");
  EXPECT_EQ(chained_.plant().FeedRows(UpstreamName(kDay, {})), std::vector<int64_t>({0, 0}));
}

TEST_F(UpstreamTest, CountsADayWhoseLogIsNotThereAnyMore) {
  StartBoth();
  Publish(10);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  chained_.Kill();
  ASSERT_TRUE(up_.plant().EndDay().ok());
  Publish(10);
  simulation_.RunFor(1s);
  std::filesystem::remove(up_.directory() + "/sym2020.03.09");
  ASSERT_TRUE(chained_.Start(kDay, up_.port()).ok());
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("state") << Said("error");
  EXPECT_EQ(Said("days_missing"), "1");
  ExpectSameLogs("2020.03.10");
}

TEST_F(UpstreamTest, RefusesALogThatLostRowsOfWhichItHasSome) {
  for (const bool is_restarted : {false, true}) {
    SCOPED_TRACE(is_restarted);
    std::filesystem::remove_all(directory_);
    number_ = 0;
    StartBoth();
    Publish(6);
    ASSERT_TRUE(Until([&] { return HasAll(); }));
    simulation_.RunFor(2s);  // The mark is written.
    if (is_restarted) chained_.Close();
    up_.Kill();
    // The first messages are the same, and then there are others.
    std::filesystem::remove_all(up_.directory());
    ASSERT_TRUE(up_.Start(kDay).ok());
    number_ = 0;
    Publish(4);
    number_ = 100;
    Publish(10);
    up_.Close();
    tplog::TplogState state = *tplog::ReadTplogState(up_.directory() + "/sym2020.03.09");
    state.cuts.push_back({4, 0});
    ASSERT_TRUE(tplog::WriteTplogState(up_.directory() + "/sym2020.03.09", state).ok());
    ASSERT_TRUE(up_.Start(kDay).ok());
    if (is_restarted) {
      ASSERT_TRUE(chained_.Start(kDay, up_.port()).ok());
    }
    ASSERT_TRUE(Until([&] { return Said("state") == "refused"; })) << Said("state");
    EXPECT_THAT(Said("error"), HasSubstr("a power cut shortened the upstream's log to 4 messages"));
    simulation_.RunFor(30s);  // It is not forgotten.
    EXPECT_EQ(Said("state"), "refused");
    EXPECT_EQ(NumbersIn(chained_, "2020.03.09"), std::vector<int64_t>({0, 1, 2, 3, 4, 5}));
    chained_.Kill();
    up_.Kill();
  }
}

// A cut before any row that is here costs nothing, also one that was known before.
TEST_F(UpstreamTest, ContinuesIfACutLostOnlyRowsThatItLacks) {
  StartBoth();
  Publish(6);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  up_.Close();
  tplog::TplogState state = *tplog::ReadTplogState(up_.directory() + "/sym2020.03.09");
  state.cuts.push_back({6, 0});
  ASSERT_TRUE(tplog::WriteTplogState(up_.directory() + "/sym2020.03.09", state).ok());
  ASSERT_TRUE(up_.Start(kDay).ok());
  Publish(6);
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("error");
  chained_.Close();
  ASSERT_TRUE(chained_.Start(kDay, up_.port()).ok());
  Publish(6);
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("error");
  ExpectSameLogs("2020.03.09");
}

// A member that lost rows in a power cut has them again before it leads.
TEST_F(UpstreamTest, ContinuesAfterPowerCutsOfMembers) {
  up_.epoch = 1;
  StartBoth();
  Publish(6);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  for (const std::vector<tplog::TplogState::Cut>& cuts :
       {std::vector<tplog::TplogState::Cut>{{4, 0}, {5, 0}}, {{0, 0}}, {}}) {
    up_.Close();
    ++up_.epoch;
    tplog::TplogState state = *tplog::ReadTplogState(up_.directory() + "/sym2020.03.09");
    state.cuts = cuts;
    ASSERT_TRUE(tplog::WriteTplogState(up_.directory() + "/sym2020.03.09", state).ok());
    ASSERT_TRUE(up_.Start(kDay).ok());
    Publish(6);
    ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("error");
  }
  EXPECT_EQ(Said("refusals"), "0");
  ExpectSameLogs("2020.03.09");
}

// The copy may be restarted meanwhile: its mark knows the last message.
TEST_F(UpstreamTest, RefusesALogOfAClusterThatLostMessages) {
  up_.epoch = 1;
  StartBoth();
  Publish(6);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  up_.Kill();
  chained_.Kill();
  std::filesystem::remove_all(up_.directory());
  ++up_.epoch;
  ASSERT_TRUE(up_.Start(kDay).ok());
  ASSERT_TRUE(chained_.Start(kDay, up_.port()).ok());
  number_ = 0;
  Publish(4);
  number_ = 100;
  Publish(10);
  ASSERT_TRUE(Until([&] { return Said("state") == "refused"; })) << Said("state");
  EXPECT_THAT(Said("error"), HasSubstr("lost messages, and rows of message 5 are logged here"));
  EXPECT_EQ(NumbersIn(chained_, "2020.03.09"), std::vector<int64_t>({0, 1, 2, 3, 4, 5}));
}

// Goal: rows that were logged here after the last mark are of messages that a cut may have taken.
// Method: an old mark is put back.
TEST_F(UpstreamTest, RefusesAMembersCutBetweenItsMarkAndItsLog) {
  up_.epoch = 1;
  StartBoth();
  Publish(6);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  const std::string log = chained_.directory() + "/sym2020.03.09";
  const UpstreamMark mark = **ReadUpstreamMark(log);
  ASSERT_EQ(mark.seq, 6u);
  Publish(6);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  for (const auto& [messages, is_refused] : {std::pair(4u, false), std::pair(8u, true)}) {
    chained_.Kill();
    up_.Close();
    ASSERT_TRUE(WriteUpstreamMark(log, mark).ok());
    tplog::TplogState state = *tplog::ReadTplogState(up_.directory() + "/sym2020.03.09");
    state.cuts = {{messages, 0}};
    ASSERT_TRUE(tplog::WriteTplogState(up_.directory() + "/sym2020.03.09", state).ok());
    ASSERT_TRUE(up_.Start(kDay).ok());
    ASSERT_TRUE(chained_.Start(kDay, up_.port()).ok());
    Publish(1);
    ASSERT_TRUE(Until([&] { return is_refused ? Said("state") == "refused" : HasAll(); }));
  }
  EXPECT_THAT(Said("error"), HasSubstr("shortened the upstream's log to 8 messages"));
}

// A leader that was paused has fewer rows than were copied from its successor, and answers before
// it knows that it was replaced.
TEST_F(UpstreamTest, LeavesALeaderThatWasReplaced) {
  Plant paused(loop_, directory_ + "/paused");
  paused.epoch = 1;
  up_.epoch = 2;
  ASSERT_TRUE(paused.Start(kDay).ok());
  ASSERT_TRUE(up_.Start(kDay).ok());
  paused.Kill();
  Publish(6);
  UpstreamOptions upstream;
  upstream.address = {"127.0.0.1", paused.port(), ""};
  upstream.address.others.push_back({"127.0.0.1", up_.port(), ""});
  ASSERT_TRUE(chained_.StartWith(kDay, upstream).ok());
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  ASSERT_TRUE(paused.Start(kDay).ok());
  up_.Kill();
  simulation_.RunFor(4s);
  EXPECT_GT(std::stoi(Said("lost")), 1);  // Connections to the paused one.
  ASSERT_TRUE(up_.Start(kDay).ok());
  Publish(6);
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("error");
  EXPECT_EQ(Said("refusals"), "0");
  ExpectSameLogs("2020.03.09");
  chained_.Kill();
}

TEST_F(UpstreamTest, RefusesAnotherLogOfTheSameDay) {
  StartBoth();
  Publish(3);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  up_.Kill();
  std::filesystem::remove_all(up_.directory());
  ASSERT_TRUE(up_.Start(kDay).ok());
  Publish(10);
  ASSERT_TRUE(Until([&] { return Said("state") == "refused"; })) << Said("state");
  EXPECT_THAT(Said("error"), HasSubstr("another log of 2020.03.09"));
}

TEST_F(UpstreamTest, RefusesOtherSchemasUntilTheyAreTheSame) {
  up_.schemas[1] = *ParseSchema("quote", "time p, sym s, n f");
  StartBoth();
  ASSERT_TRUE(Until([&] { return Said("state") == "refused"; })) << Said("state");
  EXPECT_THAT(Said("error"), HasSubstr("table quote is \"time p, sym s, n f\" at the upstream"));
  up_.Kill();
  up_.schemas = chained_.schemas;
  ASSERT_TRUE(up_.Start(kDay).ok());
  Publish(3);
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("state") << Said("error");
  EXPECT_EQ(Said("error"), "");
}

TEST_F(UpstreamTest, RefusesAnUpstreamWithATableThatIsMissingHere) {
  UpstreamOptions options;
  options.all_tables = true;
  ASSERT_TRUE(up_.Start(kDay).ok());
  options.address = {"127.0.0.1", up_.port(), ""};
  ASSERT_TRUE(chained_.StartWith(kDay, options).ok());
  Publish(10);
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("error");
  // Added in mid-day.
  up_.Close();
  up_.schemas.push_back(*ParseSchema("status", "time p, sym s, n j"));
  ASSERT_TRUE(up_.Start(kDay).ok());
  ASSERT_TRUE(Until([&] { return Said("state") == "refused"; }));
  EXPECT_THAT(Said("error"), HasSubstr("the upstream has table status, which is missing here"));
  auto body = std::make_shared<ByteBuffer>();
  wire::Encode(
      Value::List({Value::Symbol("upd"), Value::Symbol("status"),
                   Value::List({Value::Timestamp(5), Value::Symbol("A"), Value::Long(7)})}),
      *body);
  ASSERT_TRUE(up_.plant().StageUpd(*body, body).ok());
  Publish(10);
  // Added here, too: its rows come, and the others once.
  chained_.Close();
  chained_.schemas = up_.schemas;
  ASSERT_TRUE(chained_.StartWith(kDay, options).ok());
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("error");
  for (const std::string_view table : {"trade", "quote", "status"}) {
    EXPECT_EQ(NumbersIn(chained_, "2020.03.09", table), NumbersIn(up_, "2020.03.09", table));
  }
  EXPECT_EQ(NumbersIn(chained_, "2020.03.09", "status").size(), 1);
  // Unless the tables are chosen.
  chained_.Close();
  chained_.schemas = {chained_.schemas[0]};
  std::filesystem::remove_all(chained_.directory());
  options.all_tables = false;
  ASSERT_TRUE(chained_.StartWith(kDay, options).ok());
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("error");
}

TEST_F(UpstreamTest, RefusesOtherSymbolsWithinADayButTakesMoreTables) {
  chained_.schemas = {chained_.schemas[0]};
  StartBoth({"A"});
  Publish(9);
  ASSERT_TRUE(Until([&] { return HasAll(); }));
  chained_.Close();
  EXPECT_THAT(Message(chained_.Start(kDay, up_.port(), {"B"})), HasSubstr("by other symbols"));
  chained_.Kill();
  chained_.schemas = up_.schemas;
  ASSERT_TRUE(chained_.Start(kDay, up_.port(), {"A"}).ok());
  Publish(9);
  ASSERT_TRUE(Until([&] { return HasAll(); })) << Said("state") << Said("error");
  for (const std::string_view table : {"trade", "quote"}) {
    EXPECT_EQ(NumbersIn(up_, "2020.03.09", table), NumbersIn(chained_, "2020.03.09", table));
  }
}

TEST_F(UpstreamTest, IsCopiedByAnotherOne) {
  StartBoth();
  Plant last(loop_, directory_ + "/last");
  ASSERT_TRUE(last.Start(kDay, chained_.port()).ok());
  Publish(50);
  ASSERT_TRUE(up_.plant().EndDay().ok());
  Publish(50);
  ASSERT_TRUE(Until([&] {
    return last.plant().date() == up_.plant().date() &&
           last.plant().logged_seq() == up_.plant().logged_seq();
  }));
  for (const std::string_view day : {"2020.03.09", "2020.03.10"}) {
    EXPECT_EQ(NumbersIn(up_, day), NumbersIn(last, day));
  }
}

// A feed with an upstream's name could make rows of the upstream seem to be logged.
TEST_F(UpstreamTest, ItsNameCannotBeUsedByFeeds) {
  StartBoth();
  Peer peer;
  wire::Connection& feed = Connect(chained_.port(), peer);
  const auto refused =
      Ask(feed, ".u.updn[`$\".upstream@2020.03.09\";0;`trade;(2020.03.09D12:00:00;`A;1)]");
  EXPECT_THAT(Message(refused.status()), HasSubstr("is no feed's name"));
}

// Goal: bytes of a peer that is no tickerplant do no harm. Method: a server that replies with
// answers of wrong shapes to whatever it is asked.
TEST_F(UpstreamTest, RefusesAnswersThatNoTickerplantGives) {
  class Liar : public wire::ServerHandler {
   public:
    explicit Liar(const Schema& schema) : schema_(schema) {}
    void OnOpened(wire::Connection&) override {}
    void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
      if (message.kind != wire::MessageKind::kSync) return;
      const bool asks_schema = !wire::PeekVerb(message.body).has_value();
      connection.Reply(connection.TakeTicket(), asks_schema ? EmptyTable(schema_) : answer);
    }
    void OnClosed(wire::Connection&, const absl::Status&) override {}
    Value answer;

   private:
    const Schema schema_;
  };
  chained_.schemas = {chained_.schemas[0]};
  Liar liar(chained_.schemas[0]);
  const auto server = *wire::Server::Listen(loop_, {"127.0.0.1", 0, ""}, {}, &liar);
  ASSERT_TRUE(chained_.Start(kDay, server->port()).ok());
  const auto bytes = [](const ByteBuffer& content) {
    return Value::Vector(Type::kByte, content.Clone());
  };
  const auto message = [](const Value& value) {
    ByteBuffer encoded;
    wire::Encode(value, encoded);
    return encoded;
  };
  const Value none = bytes({}), no_day = Value::Date(kNullInt), no_cuts = Value::Longs({});
  ByteBuffer torn = message(Value::List({Value::Symbol("upd"), Value::Symbol("trade")}));
  torn.resize(torn.size() - 2);
  const Value row = Value::List({Value::Symbol("upd"), Value::Symbol("trade"),
                                 Value::List({Value::Long(1), Value::Long(2), Value::Long(3)})});
  const std::vector<Value> answers = {
      Value::Long(1),
      Value::List({}),
      Value::List({none, Value::Long(0), no_day}),
      Value::List({Value::Long(1), Value::Long(0), no_day, no_cuts}),
      Value::List({none, Value::Long(0), Value::Date(kDay), no_cuts}),
      Value::List({none, Value::Long(0), Value::Date(INT32_MAX), no_cuts}),
      Value::List({bytes(torn), Value::Long(1), no_day, no_cuts}),
      Value::List({bytes(message(row)), Value::Long(1), no_day, no_cuts}),
  };
  for (size_t i = 0; i < answers.size(); ++i) {
    SCOPED_TRACE(i);
    liar.answer = answers[i];
    simulation_.RunFor(12s);
    EXPECT_EQ(Said("state"), "refused");
    EXPECT_NE(Said("error"), "");
    EXPECT_EQ(chained_.plant().logged_seq(), 0U);
    EXPECT_EQ(chained_.plant().date(), kDay);
  }
  chained_.Kill();  // Before its upstream.
}

TEST_F(UpstreamTest, RequestsForWhatIsNotThereAreErrors) {
  ASSERT_TRUE(up_.Start(kDay).ok());
  Peer peer;
  wire::Connection& client = Connect(up_.port(), peer);
  for (const auto& [q, error] : std::vector<std::pair<std::string, std::string>>{
           {".u.chain[2020.03.08;0;1]", "log: there is no log of 2020.03.08"},
           {".u.chain[2020.03.10;0;1]", "log: there is no log of 2020.03.10"},
           {".u.chain[2020.03.09;1;1]", "length: .u.log from message 1, the log has 0"},
           {".u.chain[2020.03.09;-1;1]", "length"},
           {".u.chain[0Nd;0;1]", "log: there is no log of"},
           {".u.chain[1;0;1]", "type"}}) {
    EXPECT_THAT(Message(Ask(client, q).status()), HasSubstr(error)) << q;
  }
}

}  // namespace
}  // namespace tickstack::tickerplant
