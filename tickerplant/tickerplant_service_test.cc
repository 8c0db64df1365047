#include "tickerplant/tickerplant_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/logging.h"
#include "base/status.h"
#include "tickerplant/standby/replication_for_test.h"
#include "tplog/tplog_check.h"
#include "wire/client.h"
#include "wire/codec.h"
#include "wire/simulation.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class Peer : public wire::ClientHandler {
 public:
  void OnConnected(wire::Connection&) override { connected = true; }
  void OnMessage(wire::Connection&, const wire::ReceivedMessage& message) override {
    messages.push_back(*wire::Decode(message.body));
  }
  void OnClosed(wire::Connection&, const absl::Status&) override { closed = true; }
  std::vector<Value> messages;
  bool connected = false;
  bool closed = false;
};

constexpr int64_t kBatchNs = 1'000'000;
constexpr int64_t kNowNs = 9'500 * kNsPerDay + 15 * 3600 * kNsPerSecond;  // In 2026.

// A tickerplant and its clients, on one loop.

class TickerplantServiceTest : public testing::Test {
 protected:
  // `live_queue_bytes`: TickerplantOptions.
  explicit TickerplantServiceTest(size_t live_queue_bytes = size_t{1} << 20,
                                  ShardOptions shard = {})
      : directory_(std::filesystem::temp_directory_path() /
                   ("tickerplant_service_test." + std::to_string(::getpid()) + "." +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    InitLogging("test", LogLevel::kOff);
    std::filesystem::remove_all(directory_);
    TickerplantOptions options;
    options.schemas = DefaultSchemas();
    options.log_directory = directory_;
    options.live_queue_bytes = live_queue_bytes;
    options.shard = std::move(shard);
    auto plant = Tickerplant::Open(options, *DayClock::Create("UTC", 0, DaysFromCivil(2020, 3, 9)),
                                   &loop_.clock());
    EXPECT_TRUE(plant.ok()) << plant.status();
    service_ = std::make_unique<TickerplantService>(
        loop_, *std::move(plant), BatchClock(kBatchNs, std::nullopt, loop_.clock().NowNs()),
        [this](const absl::Status& why) { failure_ = why; });
    wire::ServerOptions server_options;
    server_options.connection.max_queue_bytes = size_t{4} << 20;
    server_ = *wire::Server::Listen(loop_, {"127.0.0.1", 0, ""}, server_options, service_.get());
  }
  ~TickerplantServiceTest() override {
    clients_.clear();
    server_.reset();
    service_.reset();
    std::filesystem::remove_all(directory_);
  }

  wire::Connection& Connect(Peer& peer) {
    clients_.push_back(std::make_unique<wire::Client>(
        loop_, wire::Address{"127.0.0.1", server_->port(), ""}, wire::ClientOptions{}, &peer));
    Until([&] { return clients_.back()->connection() != nullptr; });
    return *clients_.back()->connection();
  }
  void Until(const std::function<bool()>& done) { ASSERT_TRUE(simulation_.RunUntil(done, 20s)); }
  absl::StatusOr<Value> Ask(wire::Connection& connection, const Value& request) {
    std::optional<absl::StatusOr<Value>> answer;
    connection.Call(request, [&](absl::StatusOr<Value> a) { answer = std::move(a); });
    Until([&] { return answer.has_value(); });
    return *std::move(answer);
  }
  absl::StatusOr<Value> Ask(wire::Connection& connection, std::string_view q) {
    return Ask(connection, Value::String(q));
  }

  // Leads standbys that acknowledge nothing until they are told to.
  FakeReplication& LeadSlowly() {
    auto replication = std::make_unique<FakeReplication>(1);
    FakeReplication& slow = *replication;
    slow.acknowledges = false;
    service_->Lead(std::move(replication));
    return slow;
  }

  static Value Trade(std::string_view sym, int32_t size = 100) {
    return Value::List({Value::Timestamp(5), Value::Symbol(sym), Value::Float(1.5),
                        Value::Int(size), Value::Boolean(false), Value::Char(' '),
                        Value::Char('N')});
  }
  static Value Quotes(size_t rows) {
    SymbolVector syms;
    for (size_t i = 0; i < rows; ++i) syms.push_back("IBM");
    const std::vector<int64_t> longs(rows, 1);
    const std::vector<double> floats(rows, 1);
    return Value::List(
        {Value::Vector(Type::kTimestamp, std::span<const int64_t>(longs)), Value::Symbols(syms),
         Value::Vector(Type::kFloat, std::span<const double>(floats)),
         Value::Vector(Type::kFloat, std::span<const double>(floats)),
         Value::Vector(Type::kLong, std::span<const int64_t>(longs)),
         Value::Vector(Type::kLong, std::span<const int64_t>(longs)),
         Value::String(std::string(rows, 'a')), Value::String(std::string(rows, 'b'))});
  }
  // Rows that a subscriber got.
  static size_t RowsOf(const Peer& peer) {
    size_t rows = 0;
    for (const Value& message : peer.messages) {
      if (message.items()[0] == Value::Symbol("upd")) rows += message.items()[2].count();
    }
    return rows;
  }
  static Value UpdOf(std::string_view table, Value x) {
    return Value::List({Value::Symbol(".u.upd"), Value::Symbol(table), std::move(x)});
  }

  const std::string directory_;
  wire::Simulation simulation_{kNowNs};
  wire::EventLoop& loop_ = simulation_.loop();
  absl::Status failure_;
  std::unique_ptr<TickerplantService> service_;
  std::unique_ptr<wire::Server> server_;
  std::vector<std::unique_ptr<wire::Client>> clients_;
};

// Goal: the end of a day does not cost a closer its last rows if it has just lost the connection on
// which it publishes. Method: the new connection comes while the day closes, and so do rows of a
// feed and rows in a string, which have to wait.
TEST_F(TickerplantServiceTest, ReadsTheNewConnectionOfACloserWhileTheDayCloses) {
  Peer subscriber, link, feed, other;
  wire::Connection& subscribed = Connect(subscriber);
  ASSERT_TRUE(Ask(subscribed, ".u.closer[`bars]").ok());
  wire::Connection& feeding = Connect(feed);
  ASSERT_TRUE(Ask(feeding, UpdOf("trade", Trade("OLD"))).ok());
  const int64_t begin_ns = loop_.clock().NowNs();
  const int32_t date = service_->tickerplant().date();
  ASSERT_TRUE(Ask(feeding, ".u.end[]").ok());
  Until([&] { return !subscriber.messages.empty(); });

  std::vector<size_t> answered;
  for (const size_t rows : {size_t{1}, size_t{2}, size_t{3}}) {
    feeding.Call(UpdOf("quote", Quotes(rows)),
                 [&answered, rows](const absl::StatusOr<Value>& answer) {
                   EXPECT_TRUE(answer.ok());
                   answered.push_back(rows);
                 });
  }
  Connect(other).SendAsync(Value::String(".u.upd[`quote;(0Np;`A;1f;1f;1;1;\"a\";\"b\")]"));
  wire::Connection& publishing = Connect(link);
  publishing.SendAsync(Value::List({Value::Symbol(".u.closer"), Value::Symbol("bars")}));
  publishing.SendAsync(UpdOf("trade", Trade("LAST")));
  simulation_.RunFor(1s);
  EXPECT_EQ(service_->tickerplant().date(), date);
  EXPECT_EQ(service_->tickerplant().logged_seq(), 2u);
  EXPECT_TRUE(answered.empty());
  publishing.SendAsync(
      Value::List({Value::Symbol(".u.closed"), Value::Symbol("bars"), Value::Date(date)}));
  Until([&] { return answered.size() == 3; });
  EXPECT_LT(loop_.clock().NowNs() - begin_ns, 2 * kNsPerSecond);
  EXPECT_THAT(answered, ElementsAre(1, 2, 3));
  EXPECT_EQ(service_->tickerplant().date(), date + 1);
  const tplog::TableRows ended = *tplog::CountTplogRows(directory_ + "/sym2020.03.09");
  EXPECT_EQ(ended, (tplog::TableRows{{"trade", 2}}));
  const tplog::TableRows next = *tplog::CountTplogRows(directory_ + "/sym2020.03.10");
  EXPECT_EQ(next.at("quote"), 7u);
}

// Goal: a row of a process that has died does not replace a newer one of its successor, because it
// was still on its way. Method: it arrives right after the successor has registered.
TEST_F(TickerplantServiceTest, LogsNothingMoreOfAPublisherThatWasReplaced) {
  Peer first, second, other;
  wire::Connection& before = Connect(first);
  wire::Connection& after = Connect(second);
  wire::Connection& unrelated = Connect(other);
  ASSERT_TRUE(Ask(before, ".u.publisher[`bars]").ok());
  ASSERT_TRUE(Ask(unrelated, ".u.publisher[`others]").ok());
  ASSERT_TRUE(Ask(before, UpdOf("trade", Trade("A"))).ok());
  bool registered = false;
  after.Call(Value::List({Value::Symbol(".u.publisher"), Value::Symbol("bars")}),
             [&registered](const absl::StatusOr<Value>& answer) { registered = answer.ok(); });
  loop_.Post([&] { before.SendAsync(UpdOf("trade", Trade("OLD"))); });
  Until([&] { return registered; });
  ASSERT_TRUE(Ask(after, ".u.publisher[`bars]").ok());  // Once more: it stays what it is.
  ASSERT_TRUE(Ask(after, UpdOf("trade", Trade("NEW"))).ok());
  ASSERT_TRUE(Ask(unrelated, UpdOf("trade", Trade("B"))).ok());
  EXPECT_EQ(service_->tickerplant().logged_seq(), 3u);
  EXPECT_EQ(Message(Ask(after, ".u.publisher[1]").status()),
            "type: .u.publisher[name] takes a symbol");
}

// Goal: a feed is not told that its rows are not logged while they wait for standbys: it would take
// them for refused ones.
TEST_F(TickerplantServiceTest, AFeedIsAnsweredWhenItsRowsAreLogged) {
  FakeReplication& slow = LeadSlowly();
  Peer peer, other;
  wire::Connection& feed = Connect(peer);
  const Value ask = Value::List({Value::String(".u.feed"), Value::Symbol("f")});
  ASSERT_THAT(Ask(feed, ask)->values().span<int64_t>(), ElementsAre(0, 0));
  feed.SendAsync(Value::List({Value::Symbol(".u.updn"), Value::Symbol("f"), Value::Long(0),
                              Value::Symbol("quote"), Quotes(3)}));
  std::vector<int64_t> rows;
  feed.Call(ask, [&rows](const absl::StatusOr<Value>& answer) {
    ASSERT_TRUE(answer.ok());
    for (const int64_t count : answer->values().span<int64_t>()) rows.push_back(count);
  });
  simulation_.RunFor(10s);
  EXPECT_TRUE(rows.empty());
  EXPECT_THAT(Ask(Connect(other), ".u.feed[`f]")->values().span<int64_t>(), ElementsAre(0, 0));
  slow.acknowledges = true;
  service_->OnReplicationProgress();
  Until([&] { return !rows.empty(); });
  EXPECT_THAT(rows, ElementsAre(0, 3));
}

// Goal: a new leader tells no client of rows before its log is settled, and says how far it is.
TEST_F(TickerplantServiceTest, RefusesClientsUntilItsLogIsSettled) {
  auto replication = std::make_unique<FakeReplication>(1);
  FakeReplication& unsettled = *replication;
  unsettled.settled = false;
  service_->Lead(std::move(replication));
  Peer asker, feed, member;
  EXPECT_EQ(Message(Ask(Connect(asker), ".u.j").status()),
            "standby: this tickerplant takes over, and waits for its standbys");
  Connect(feed).SendAsync(UpdOf("trade", Trade("A")));
  EXPECT_TRUE(Ask(Connect(member), ".u.replica[]").ok());
  Until([&] { return asker.closed && feed.closed; });
  EXPECT_FALSE(member.closed);
  EXPECT_EQ(service_->tickerplant().upds_staged(), 0u);
  unsettled.settled = true;
  Peer later;
  wire::Connection& served = Connect(later);
  simulation_.RunFor(10ms);
  EXPECT_EQ(*Ask(served, ".u.j"), Value::Long(0));
}

// Goal: a feed does not learn that it has a name after another one has taken it over.
TEST_F(TickerplantServiceTest, AClaimThatWaitsIsRefusedIfTheNameIsTakenOver) {
  FakeReplication& slow = LeadSlowly();
  Peer peer, other;
  wire::Connection& feed = Connect(peer);
  const auto claim = [](std::string_view instance, std::string_view how) {
    return Value::List({Value::String(".u.feed"), Value::Symbol("f"), Value::Symbol(instance),
                        Value::Symbol(how)});
  };
  feed.SendAsync(Value::List({Value::Symbol(".u.updn"), Value::Symbol("f"), Value::Long(0),
                              Value::Symbol("quote"), Quotes(3)}));
  std::optional<absl::Status> first, second;
  feed.Call(claim("one", "again"),
            [&first](const absl::StatusOr<Value>& answer) { first = answer.status(); });
  simulation_.RunFor(1s);
  Connect(other).Call(claim("two", "takeover"),
                      [&second](const absl::StatusOr<Value>& answer) { second = answer.status(); });
  simulation_.RunFor(1s);
  EXPECT_FALSE(first || second);
  slow.acknowledges = true;
  service_->OnReplicationProgress();
  Until([&] { return first && second; });
  EXPECT_THAT(std::string(first->message()), HasSubstr("taken"));
  EXPECT_TRUE(second->ok()) << *second;
}

TEST_F(TickerplantServiceTest, AnswersWhatKdbTicksRdbSends) {
  Peer peer;
  wire::Connection& connection = Connect(peer);
  ASSERT_TRUE(Ask(connection, UpdOf("trade", Trade("IBM"))).ok());
  const absl::StatusOr<Value> answer = Ask(connection, "(.u.sub[`;`];`.u `i`L)");
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->items().size(), 2u);
  const std::vector<Value>& schemas = answer->items()[0].items();
  ASSERT_EQ(schemas.size(), 2u);
  EXPECT_EQ(schemas[0].items()[0], Value::Symbol("trade"));
  const Value& empty = schemas[0].items()[1];
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.FindColumn("sym")->attribute(), Attribute::kGrouped);
  EXPECT_EQ(answer->items()[1].items()[0], Value::Long(1));
  EXPECT_EQ(answer->items()[1].items()[1], Value::Symbol(":" + directory_ + "/sym2020.03.09"));
}

// Subscribers written for kdb+tick and its successors send the function as a value.
TEST_F(TickerplantServiceTest, SubscribesByItsFunctionAsAValue) {
  Peer peer;
  wire::Connection& connection = Connect(peer);
  EXPECT_EQ(*Ask(connection, "{key `.u.w}`"), Value::Symbols({"trade", "quote"}));
  const absl::StatusOr<Value> each = Ask(connection, ".u.sub[;`] each .u.t");
  ASSERT_TRUE(each.ok()) << each.status();
  EXPECT_EQ(each->items()[0].items()[0], Value::Symbol("quote"));
  const absl::StatusOr<Value> left =
      Ask(connection,
          "{`schemalist`logfilelist`rowcounts`date!"
          "(.u.sub\\:[x;y];enlist(.u`i`L);(.u `icounts);(.u `d))}[`quote`trade;`]");
  ASSERT_TRUE(left.ok()) << left.status();
  EXPECT_EQ(left->values().items()[0].count(), 2U);
  EXPECT_TRUE(left->values().items()[2].is_null());
  EXPECT_EQ(left->values().items()[3], Value::Date(DaysFromCivil(2020, 3, 9)));
  EXPECT_EQ(*Ask(connection, "@[value;`tptype;`standard]"), Value::Symbol("standard"));
  EXPECT_EQ(Ask(connection, "key`.u")->symbols()[0], "");
}

TEST_F(TickerplantServiceTest, PublishesToEverySubscriberWhatItAskedFor) {
  Peer all, ibm, quotes, feed;
  ASSERT_TRUE(Ask(Connect(all), ".u.sub[`;`]").ok());
  ASSERT_TRUE(Ask(Connect(ibm), ".u.sub[`trade;`IBM`BAC]").ok());
  // As q programs send it: a list of symbols collapses to a vector.
  ASSERT_TRUE(Ask(Connect(quotes), Value::Symbols({".u.sub", "quote", ""})).ok());
  wire::Connection& connection = Connect(feed);
  connection.SendAsync(UpdOf("trade", Trade("IBM")));
  connection.SendAsync(UpdOf("trade", Trade("AIG")));
  Until([&] { return !all.messages.empty() && !ibm.messages.empty(); });
  Until([&] {
    size_t rows = 0;
    for (const Value& message : all.messages) rows += message.items()[2].count();
    return rows == 2;
  });
  ASSERT_EQ(ibm.messages.size(), 1u);
  EXPECT_EQ(*ibm.messages[0].items()[2].FindColumn("sym"), Value::Symbols({"IBM"}));
  EXPECT_TRUE(quotes.messages.empty());
}

// PyKX sends a Python list of names as a list, not as a vector.
TEST_F(TickerplantServiceTest, SubscribesToAListOfSymbolsThatIsNoVector) {
  Peer some, feed;
  const Value names = Value::List({Value::Symbol("IBM"), Value::Symbol("BAC")});
  const Value tables = Value::List({Value::Symbol("trade"), Value::Symbol("quote")});
  const auto call = [](const Value& table, const Value& symbols) {
    return Value::List({Value::String(".u.sub"), table, symbols});
  };
  wire::Connection& subscriber = Connect(some);
  ASSERT_TRUE(Ask(subscriber, call(Value::Symbol("trade"), names)).ok());
  const Value mixed = Value::List({Value::Symbol("IBM"), Value::Long(1)});
  EXPECT_FALSE(Ask(subscriber, call(Value::Symbol("trade"), mixed)).ok());
  EXPECT_EQ(Ask(subscriber, call(tables, names))->count(), 2u);
  wire::Connection& connection = Connect(feed);
  connection.SendAsync(UpdOf("trade", Trade("AIG")));
  connection.SendAsync(UpdOf("trade", Trade("IBM")));
  Until([&] { return !some.messages.empty(); });
  EXPECT_EQ(*some.messages[0].items()[2].FindColumn("sym"), Value::Symbols({"IBM"}));
}

// Goal: a subscription of wrong types is told which argument is wrong, what was found, and what to
// write instead.
TEST_F(TickerplantServiceTest, SaysWhatAWrongSubscriptionHas) {
  Peer peer;
  wire::Connection& client = Connect(peer);
  const auto error_of = [&](const Value& table, const Value& symbols) {
    const absl::StatusOr<Value> answer =
        Ask(client, Value::List({Value::String(".u.sub"), table, symbols}));
    return answer.ok() ? "an answer" : std::string(Message(answer.status()));
  };
  const std::string table =
      "type: .u.sub[table;symbols]: table is a symbol, a list of symbols, or ` for all; found ";
  const std::string symbols =
      "type: .u.sub[table;symbols]: symbols are a symbol, a list of symbols, or ` for all; found ";
  const Value all = Value::Symbol("");
  const Value mixed = Value::List({Value::Symbol("IBM"), Value::Long(1)});
  EXPECT_EQ(error_of(Value::String("trade"), all),
            table + "the text \"trade\", which is a symbol as `trade");
  EXPECT_EQ(error_of(Value::Char('t'), all), table + "the text \"t\", which is a symbol as `t");
  EXPECT_EQ(error_of(Value::String("a\nb"), all),
            table + "the text \"a\\x0ab\", which is a symbol as `a\\x0ab");
  EXPECT_EQ(error_of(Value::Long(5), all), table + "the atom of type long");
  EXPECT_EQ(error_of(mixed, all), table + "a list of several types");
  EXPECT_EQ(error_of(Value::Symbol("trade"), Value::String("IBM")),
            symbols + "the text \"IBM\", which is a symbol as `IBM");
  EXPECT_EQ(error_of(Value::Symbol("trade"), Value::Longs({1, 2})),
            symbols + "a list of type long");
  EXPECT_EQ(error_of(Value::Symbol("trade"), mixed), symbols + "a list of several types");
  EXPECT_EQ(error_of(Value::Symbol("trade"), Value::Symbols({})),
            "length: .u.sub[table;symbols]: no symbols; ` is all");
  EXPECT_EQ(error_of(Value::Symbol("nobody"), all), "nobody");
}

TEST_F(TickerplantServiceTest, AnswersASyncUpdWhenItIsLogged) {
  Peer peer;
  wire::Connection& connection = Connect(peer);
  EXPECT_TRUE(Ask(connection, UpdOf("trade", Trade("IBM")))->is_null());
  EXPECT_EQ(service_->tickerplant().logged_seq(), 1u);
  const absl::StatusOr<Value> wrong = Ask(connection, UpdOf("nosuch", Trade("IBM")));
  EXPECT_THAT(std::string(Message(wrong.status())), HasSubstr("nosuch"));
  EXPECT_EQ(*Ask(connection, ".u.j"), Value::Long(1));
}

TEST_F(TickerplantServiceTest, TellsAFeedHowFarItIsAndOfAGap) {
  Peer peer;
  wire::Connection& connection = Connect(peer);
  const auto updn = [](int64_t row) {
    return Value::List({Value::Symbol(".u.updn"), Value::Symbol("f"), Value::Long(row),
                        Value::Symbol("trade"), Trade("A")});
  };
  connection.SendAsync(updn(0));
  connection.SendAsync(updn(1));
  connection.SendAsync(updn(7));
  const absl::StatusOr<Value> rows = Ask(connection, ".u.feed[`f]");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_EQ(rows->keys(), Value::Symbols({"trade", "quote"}));
  EXPECT_THAT(rows->values().span<int64_t>(), ElementsAre(2, 0));
  ASSERT_EQ(peer.messages.size(), 1u);
  EXPECT_EQ(peer.messages[0].items()[0], Value::Symbol(".u.err"));
  EXPECT_THAT(std::string(peer.messages[0].items()[1].text()),
              HasSubstr("gap: feed f sends row 7 of trade, expected 2"));
}

// The tickerplant of the only shard of a map, so that it takes all symbols.
class ShardServiceTest : public TickerplantServiceTest {
 protected:
  ShardServiceTest()
      : TickerplantServiceTest(
            size_t{1} << 20,
            {std::make_shared<const ShardMap>(*ShardMap::Create({"b"}, {})), 0, {}}) {}

  absl::Status Claim(wire::Connection& connection, const std::string& name, SymbolVector how = {}) {
    std::vector<Value> call{Value::String(".u.feed"), Value::Symbol(name), Value::Symbol("one")};
    if (!how.empty()) call.push_back(Value::Symbols(std::move(how)));
    return Ask(connection, Value::List(std::move(call))).status();
  }
  static Value Updn(const std::string& name) {
    return Value::List({Value::Symbol(".u.updn"), Value::Symbol(name), Value::Long(0),
                        Value::Symbol("trade"), Trade("A")});
  }
  const std::string map_ = service_->tickerplant().shard_id().map;
  Peer peer_;
};

TEST_F(ShardServiceTest, SaysWhichShardItIs) {
  wire::Connection& connection = Connect(peer_);
  EXPECT_EQ(*Ask(connection, ".u.shard[]"), AnswerOf({"b", map_}));
}

// Goal: a source whose rows are logged under another map is not sent again by itself.
TEST_F(ShardServiceTest, RefusesASourceThatAnotherMapHasRowsOf) {
  wire::Connection& connection = Connect(peer_);
  const std::string other = NameUnderMap("f", "0123456789abcdef"), own = NameUnderMap("f", map_);
  EXPECT_THAT(std::string(Message(Claim(connection, other))),
              HasSubstr("shard: feed f has rows of the map 0123456789abcdef, this tickerplant is "
                        "shard b of the map " +
                        map_));
  EXPECT_TRUE(Claim(connection, own).ok());
  ASSERT_TRUE(Ask(connection, Updn(other)).ok());
  EXPECT_THAT(std::string(Message(Claim(connection, own))),
              HasSubstr("again: 1 rows of f are logged as " + other));
  EXPECT_THAT(std::string(Message(Claim(connection, "f"))), HasSubstr("again: 1 rows of f"));
  EXPECT_TRUE(Claim(connection, "g").ok());
  EXPECT_TRUE(Claim(connection, own, {"again"}).ok());
  EXPECT_TRUE(Claim(connection, own, {"takeover", "again"}).ok());
  ASSERT_TRUE(Ask(connection, Updn(own)).ok());
  EXPECT_TRUE(Claim(connection, own).ok());  // It has begun, so it goes on.
}

// Goal: two feeds under one name do not use each other's row numbers. Method: the second one sends
// the rows that the first one is about to send.
TEST_F(TickerplantServiceTest, RefusesRowsUnderANameThatAnotherConnectionOwns) {
  Peer first, second;
  wire::Connection& owner = Connect(first);
  wire::Connection& other = Connect(second);
  const auto updn = [](int64_t row) {
    return Value::List({Value::Symbol(".u.updn"), Value::Symbol("f"), Value::Long(row),
                        Value::Symbol("trade"), Trade("A")});
  };
  ASSERT_TRUE(Ask(owner, ".u.feed[`f;`one]").ok());
  other.SendAsync(updn(0));
  Until([&] { return !second.messages.empty(); });
  EXPECT_EQ(second.messages[0].items()[0], Value::Symbol(".u.err"));
  EXPECT_THAT(std::string(second.messages[0].items()[1].text()),
              testing::StartsWith("held: feed f is held by 127.0.0.1:"));
  EXPECT_THAT(std::string(Message(Ask(other, updn(0)).status())), HasSubstr("held: feed f"));
  EXPECT_THAT(std::string(Message(Ask(other, ".u.updn[`f;0;`trade;1]").status())),
              HasSubstr("held: feed f"));
  EXPECT_THAT(std::string(Message(Ask(other, ".u.feed[`f;`two]").status())),
              HasSubstr("instance one"));
  EXPECT_THAT(Ask(other, ".u.feed[`f]")->values().span<int64_t>(), ElementsAre(0, 0));
  owner.SendAsync(updn(0));
  EXPECT_THAT(Ask(owner, ".u.feed[`f]")->values().span<int64_t>(), ElementsAre(1, 0));

  const absl::StatusOr<Value> stats = Ask(other, ".u.stats[]");
  const auto stat = [&](std::string_view name) {
    for (size_t i = 0; i < stats->keys().count(); ++i) {
      if (stats->keys().symbols()[i] == name) return stats->values().span<int64_t>()[i];
    }
    return int64_t{-1};
  };
  EXPECT_EQ(stat("rows"), 1);
  EXPECT_EQ(stat("rows_duplicated"), 0);
  EXPECT_EQ(stat("feeds"), 1);
  EXPECT_EQ(stat("feed_upds_refused"), 3);
  EXPECT_EQ(stat("upds_refused"), 3);
  EXPECT_EQ(stat("feed_claims_refused"), 1);

  // The name is free again once its owner's connection has ended.
  clients_[0]->Stop();
  Until([&] { return Ask(other, ".u.feed[`f;`two]").ok(); });
  EXPECT_TRUE(Ask(other, updn(1))->is_null());
}

TEST_F(TickerplantServiceTest, TakesANameOverAndTellsTheOneThatHadIt) {
  Peer first, second;
  wire::Connection& owner = Connect(first);
  wire::Connection& other = Connect(second);
  const auto updn = [](int64_t row) {
    return Value::List({Value::Symbol(".u.updn"), Value::Symbol("f"), Value::Long(row),
                        Value::Symbol("trade"), Trade("A")});
  };
  EXPECT_TRUE(Ask(owner, updn(0))->is_null());  // Claims the name.
  const absl::StatusOr<Value> rows = Ask(other, ".u.feed[`f;`two;`takeover]");
  ASSERT_TRUE(rows.ok()) << rows.status();
  EXPECT_THAT(rows->values().span<int64_t>(), ElementsAre(1, 0));
  Until([&] { return !first.messages.empty(); });
  EXPECT_THAT(std::string(first.messages[0].items()[1].text()),
              testing::StartsWith("taken: feed f was taken over by 127.0.0.1:"));
  EXPECT_THAT(std::string(Message(Ask(owner, updn(1)).status())), HasSubstr("taken: feed f"));
  EXPECT_TRUE(Ask(other, updn(1))->is_null());
  const absl::StatusOr<Value> feeds = Ask(other, ".u.feeds[]");
  ASSERT_TRUE(feeds.ok()) << feeds.status();
  EXPECT_EQ(*feeds->FindColumn("name"), Value::Symbols({"f"}));
  EXPECT_EQ(*feeds->FindColumn("instance"), Value::Symbols({"two"}));
  EXPECT_EQ(*feeds->FindColumn("epoch"), Value::Longs({2}));
  EXPECT_FALSE(Ask(other, ".u.feed[`f;1]").ok());
  EXPECT_FALSE(Ask(other, ".u.feed[`f;`two;`gently]").ok());
  EXPECT_FALSE(Ask(other, ".u.feed[]").ok());
}

// Goal: only logged rows are acknowledged. Method: another connection asks while rows wait for
// space on the disk.
TEST_F(TickerplantServiceTest, CountsNoRowsOfAFeedThatWaitForTheDisk) {
  Peer feed, other;
  wire::Connection& sender = Connect(feed);
  wire::Connection& asker = Connect(other);
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 200;
  ::setrlimit(RLIMIT_FSIZE, &small);
  for (int row = 0; row < 50; ++row) {
    sender.SendAsync(Value::List({Value::Symbol(".u.updn"), Value::Symbol("f"), Value::Long(row),
                                  Value::Symbol("trade"), Trade("B")}));
  }
  Until([&] { return service_->tickerplant().counters().log_retries > 1; });
  const absl::StatusOr<Value> rows = Ask(asker, ".u.feed[`f]");
  const auto logged = static_cast<int64_t>(service_->tickerplant().logged_seq());
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_LT(logged, 50);
  EXPECT_THAT(rows->values().span<int64_t>(), ElementsAre(logged, 0));
  Until([&] { return service_->tickerplant().logged_seq() == 50; });
  EXPECT_THAT(Ask(asker, ".u.feed[`f]")->values().span<int64_t>(), ElementsAre(50, 0));
}

// Goal: a client that knows several tickerplants leaves one that hangs, and stays at one that has
// nothing to send. Method: the first one says once that it is alive.
TEST_F(TickerplantServiceTest, IsLeftByAClientThatKnowsAnotherIfItIsSilent) {
  class Hung final : public wire::ServerHandler {
   public:
    void OnOpened(wire::Connection&) override {}
    void OnMessage(wire::Connection& connection, const wire::ReceivedMessage&) override {
      connection.SendAsync(Value::List({Value::Symbol(".u.alive")}));
    }
    void OnClosed(wire::Connection&, const absl::Status&) override {}
  };
  Hung hung;
  const std::unique_ptr<wire::Server> first =
      *wire::Server::Listen(loop_, {"127.0.0.1", 0, ""}, {}, &hung);
  wire::Address address{"127.0.0.1", first->port(), ""};
  address.others.push_back({"127.0.0.1", server_->port(), ""});
  Peer peer;
  const wire::Client client(loop_, address, {}, &peer);
  Until([&] { return peer.connected; });
  const int64_t begin_ns = loop_.clock().MonotonicNs();
  Until([&] { return peer.closed; });
  const int64_t silent_ms = (loop_.clock().MonotonicNs() - begin_ns) / 1'000'000;
  EXPECT_GE(silent_ms, 900);
  EXPECT_LE(silent_ms, 1400);
  peer.closed = false;
  Until([&] { return client.connection() != nullptr; });
  simulation_.RunFor(10s);
  EXPECT_FALSE(peer.closed);
  EXPECT_TRUE(peer.messages.empty());
}

TEST_F(TickerplantServiceTest, AnswersASyncUpdThatNeedsNoLogging) {
  Peer peer;
  wire::Connection& connection = Connect(peer);
  const Value updn = Value::List({Value::Symbol(".u.updn"), Value::Symbol("f"), Value::Long(0),
                                  Value::Symbol("trade"), Trade("A")});
  EXPECT_TRUE(Ask(connection, updn)->is_null());
  EXPECT_TRUE(Ask(connection, updn)->is_null());  // All of it was logged before.
  EXPECT_EQ(service_->tickerplant().logged_seq(), 1u);
}

TEST_F(TickerplantServiceTest, NumbersUpdsAndStreamsItsLog) {
  Peer peer, feed;
  wire::Connection& subscriber = Connect(peer);
  wire::Connection& sender = Connect(feed);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(Ask(sender, UpdOf("trade", Trade("A", i))).ok());
  const absl::StatusOr<Value> answer = Ask(subscriber, ".u.subx[`;`]");
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->items()[1], Value::Long(5));
  ASSERT_TRUE(Ask(sender, UpdOf("trade", Trade("B"))).ok());
  Until([&] { return !peer.messages.empty(); });
  EXPECT_EQ(peer.messages[0].items()[3], Value::Long(6));

  // Message by message, and everything in one answer.
  size_t seen = 0;
  for (int64_t from = 0; from < 6; ++from) {
    const absl::StatusOr<Value> bytes = Ask(subscriber, fmt::format(".u.log[{};1]", from));
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    size_t used = 0;
    EXPECT_TRUE(wire::DecodePrefix(bytes->elements(), &used).ok());
    EXPECT_EQ(used, bytes->elements().size());
    seen += used;
  }
  EXPECT_EQ(Ask(subscriber, ".u.log[0;1000000]")->count(), seen);
  EXPECT_EQ(Ask(subscriber, ".u.log[6;1000000]")->count(), 0u);
  EXPECT_FALSE(Ask(subscriber, ".u.log[7;1]").ok());

  // The log of an ended day is found by its path, and no other log is.
  const std::string path(Ask(subscriber, ".u.L")->symbol());
  const auto of_path = [&](std::string_view log, int64_t from) {
    return Ask(subscriber, Value::List({Value::String(".u.log"), Value::Long(from),
                                        Value::Long(1'000'000), Value::Symbol(std::string(log))}));
  };
  ASSERT_TRUE(Ask(subscriber, ".u.end[]").ok());
  ASSERT_TRUE(Ask(sender, UpdOf("trade", Trade("C"))).ok());
  EXPECT_EQ(of_path(path, 0)->count(), seen);
  EXPECT_EQ(of_path(path, 6)->count(), 0u);
  EXPECT_FALSE(of_path(path, 7).ok());
  EXPECT_GT(Ask(subscriber, ".u.log[0;1000000]")->count(), 0u);
  EXPECT_EQ(of_path(Ask(subscriber, ".u.L")->symbol(), 1)->count(), 0u);
  EXPECT_TRUE(
      Message(of_path(":/etc/passwd", 0).status()).starts_with("log: /etc/passwd is neither"));
}

TEST_F(TickerplantServiceTest, TellsWhoIsAheadWhenOthersArePublishedTo) {
  Peer peer, feed;
  wire::Connection& subscriber = Connect(peer);
  wire::Connection& sender = Connect(feed);
  const int64_t before_ns = loop_.clock().NowNs();
  const absl::StatusOr<Value> answer = Ask(subscriber, ".u.subx[`trade;`;`ahead]");
  ASSERT_TRUE(answer.ok()) << answer.status();
  ASSERT_EQ(answer->items().size(), 4u);
  const std::vector<Value>& times = answer->items()[3].items();
  EXPECT_EQ(times[0], Value::Timespan(kBatchNs));
  EXPECT_GT(times[1].as<int64_t>(), before_ns);
  EXPECT_LE(times[1].as<int64_t>(), loop_.clock().NowNs() + kBatchNs);
  ASSERT_TRUE(Ask(sender, UpdOf("trade", Trade("A"))).ok());
  Until([&] { return !peer.messages.empty(); });
  EXPECT_LT(peer.messages[0].items()[3].as<int64_t>(), 0);
  EXPECT_EQ(Ask(sender, ".u.w `trade")->count(), 1u) << "it is one of the subscribers";
  EXPECT_EQ(Ask(subscriber, ".u.subx[`trade;`;`behind]").status().message(),
            "type: .u.subx[tables;symbols;how]: how is `ahead");
  EXPECT_FALSE(Ask(subscriber, ".u.subx[`trade;`;`ahead;1]").ok());
  EXPECT_FALSE(Ask(subscriber, ".u.subx[`trade]").ok());
}

class WithoutCatchingUp : public TickerplantServiceTest {
 protected:
  WithoutCatchingUp() : TickerplantServiceTest(0) {}
};

TEST_F(WithoutCatchingUp, CutsOffASlowSubscriberAndServesTheOthers) {
  Peer slow, good, feed;
  wire::Connection& sleeper = Connect(slow);
  ASSERT_TRUE(Ask(sleeper, ".u.sub[`quote;`]").ok());
  ASSERT_TRUE(Ask(Connect(good), ".u.sub[`quote;`]").ok());
  sleeper.PauseReading();
  constexpr size_t rows = 20'000;
  wire::Connection& sender = Connect(feed);
  size_t sent = 0;
  for (; sent < 100 && service_->tickerplant().publication().Outlets().size() == 2; ++sent) {
    ASSERT_TRUE(Ask(sender, UpdOf("quote", Quotes(rows))).ok());
    simulation_.RunFor(0ns);  // The other subscriber reads all that was sent.
  }
  EXPECT_LT(sent, 100u);
  Until([&] { return RowsOf(good) == sent * rows; });
  EXPECT_EQ(Ask(sender, ".u.stats[]")->values().span<int64_t>()[11], 1);  // subscribers_dropped
}

// A subscriber of the quotes that does not read, and a feed that sends until it is behind.
class SlowSubscriberTest : public TickerplantServiceTest {
 protected:
  static constexpr size_t kRows = 20'000;

  void FallBehind(std::string_view subscribe = ".u.sub[`quote;`]") {
    sleeper_ = &Connect(slow_);
    sender_ = &Connect(feed_);
    ASSERT_TRUE(Ask(*sleeper_, subscribe).ok());
    sleeper_->PauseReading();
    while (service_->tickerplant().catch_up().size() == 0) Send();
  }
  void Send() {
    ASSERT_TRUE(Ask(*sender_, UpdOf("quote", Quotes(kRows))).ok());
    simulation_.RunFor(0ns);  // Other subscribers read all that was sent.
    sent_ += kRows;
  }
  int64_t Stat(std::string_view name) {
    const absl::StatusOr<Value> stats = Ask(*sender_, ".u.stats[]");
    const SymbolVector& names = stats->keys().symbols();
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == name) return stats->values().span<int64_t>()[i];
    }
    return -1;
  }

  Peer slow_, feed_;
  wire::Connection* sleeper_ = nullptr;
  wire::Connection* sender_ = nullptr;
  size_t sent_ = 0;
};

TEST_F(SlowSubscriberTest, IsServedFromTheLogAndThenLive) {
  FallBehind();
  Peer good;
  ASSERT_TRUE(Ask(Connect(good), ".u.sub[`quote;`]").ok());
  const size_t before = sent_;
  for (int i = 0; i < 100; ++i) Send();
  EXPECT_EQ(Stat("subscribers"), 2);
  EXPECT_EQ(Stat("subscribers_behind"), 1);
  EXPECT_EQ(Stat("subscribers_dropped"), 0);
  EXPECT_GE(Stat("fell_behind"), 1);
  EXPECT_GE(Stat("behind_rows"), static_cast<int64_t>(100 * kRows));
  EXPECT_LT(Stat("queued_bytes_max"), 4 << 20) << "it lacks 100 MB";
  EXPECT_EQ(Ask(*sender_, ".u.w `quote")->count(), 2u);
  Until([&] { return RowsOf(good) == sent_ - before; });

  sleeper_->ResumeReading();
  Until([&] { return RowsOf(slow_) == sent_ && Stat("subscribers_behind") == 0; });
  EXPECT_EQ(Stat("behind_rows"), 0);
  EXPECT_EQ(Stat("behind_ms"), 0);
  EXPECT_FALSE(slow_.closed);
  Send();
  Until([&] { return RowsOf(slow_) == sent_; });
  EXPECT_EQ(Stat("subscribers_behind"), 0);
}

TEST_F(SlowSubscriberTest, TellsTheTimeThatItIsBehind) {
  FallBehind();
  Send();
  simulation_.RunFor(7s);
  EXPECT_NEAR(static_cast<double>(Stat("behind_ms")), 7000, 100);
}

TEST_F(SlowSubscriberTest, GetsItsAnswersAfterTheRowsBeforeThem) {
  FallBehind();
  for (int i = 0; i < 10; ++i) Send();
  std::optional<size_t> rows_before_answer, rows_before_second;
  sleeper_->Call(Value::String(".u.i"), [&](const absl::StatusOr<Value>& answer) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    rows_before_answer = RowsOf(slow_);
    EXPECT_EQ(answer->as<int64_t>() * static_cast<int64_t>(kRows),
              static_cast<int64_t>(*rows_before_answer));
  });
  sleeper_->Call(Value::String("1+1"), [&](const absl::StatusOr<Value>& answer) {
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_EQ(*answer, Value::Long(2));
    rows_before_second = RowsOf(slow_);
  });
  simulation_.RunFor(1s);
  Send();
  EXPECT_FALSE(rows_before_answer.has_value());
  sleeper_->ResumeReading();
  Until([&] { return rows_before_second.has_value(); });
  EXPECT_EQ(*rows_before_answer, sent_);
}

TEST_F(SlowSubscriberTest, MayPublishWhileItIsBehind) {
  FallBehind();
  sleeper_->SendAsync(UpdOf("trade", Trade("A")));
  const uint64_t logged = service_->tickerplant().logged_seq();
  Until([&] { return service_->tickerplant().logged_seq() == logged + 1; });
}

// Goal: a request that names a day ends that one or none, whether it is a text or a list, also
// while a day closes.
TEST_F(TickerplantServiceTest, EndsNoOtherDayThanTheOneThatIsNamed) {
  Peer peer, closer;
  wire::Connection& sender = Connect(peer);
  const int32_t date = service_->tickerplant().date();
  const std::string open = FormatDate(date);
  const auto call = [&](std::string_view verb, Value named) {
    return Ask(sender, Value::List({Value::Symbol(std::string(verb)), std::move(named)}));
  };
  for (const std::string_view verb : {".u.end", ".u.endofday"}) {
    for (const int32_t other : {0, date - 1, date + 1, kNullInt, kInfinityInt}) {
      EXPECT_EQ(Message(call(verb, Value::Date(other)).status()),
                fmt::format("day: {} is not the open day, which is {}: nothing was ended",
                            FormatDate(other), open));
    }
    const std::string text = fmt::format("{}[2020.01.01]", verb);
    EXPECT_THAT(std::string(Message(Ask(sender, text).status())),
                testing::HasSubstr("day: 2020.01.01 is not the open day"));
    for (Value wrong : {Value::Long(date), Value::Symbol("x"), Value::String(open),
                        Value::Timestamp(int64_t{date} * kNsPerDay), Value::Int(date)}) {
      EXPECT_TRUE(Message(call(verb, std::move(wrong)).status()).starts_with("type: .u.end[date]"));
    }
  }
  EXPECT_EQ(service_->tickerplant().date(), date);
  EXPECT_EQ(Message(Ask(sender, fmt::format(".u.closed[`bars;{}]", FormatDate(date + 1))).status()),
            fmt::format("day: {} has not begun, the open day is {}", FormatDate(date + 1), open));

  ASSERT_TRUE(Ask(sender, fmt::format(".u.end[{}]", open)).ok());
  EXPECT_EQ(service_->tickerplant().date(), date + 1);
  // The same request again.
  EXPECT_FALSE(Ask(sender, fmt::format(".u.end[{}]", open)).ok());
  EXPECT_EQ(service_->tickerplant().date(), date + 1);
}

TEST_F(SlowSubscriberTest, HearsOfTheDaysEndAfterItsRows) {
  FallBehind(".u.subx[`quote;`]");
  for (int i = 0; i < 10; ++i) Send();
  const size_t before = sent_;
  ASSERT_TRUE(Ask(*sender_, ".u.end[]").ok());
  Send();
  sleeper_->ResumeReading();
  Until([&] { return RowsOf(slow_) == sent_; });
  size_t rows = 0;
  bool ended = false;
  for (const Value& message : slow_.messages) {
    if (message.items()[0] == Value::Symbol(".u.end")) {
      ended = true;
      EXPECT_EQ(rows, before);
    } else {
      rows += message.items()[2].count();
    }
  }
  EXPECT_TRUE(ended);
}

TEST_F(SlowSubscriberTest, ClosesTheDayAfterItsRows) {
  FallBehind(".u.closer[`slow]; .u.sub[`quote;`]");
  for (int i = 0; i < 10; ++i) Send();
  ASSERT_TRUE(Ask(*sender_, ".u.end[]").ok());
  sleeper_->ResumeReading();
  const Value closing =
      Value::List({Value::Symbol(".u.closing"), Value::Date(service_->tickerplant().date())});
  Until([&] { return std::ranges::find(slow_.messages, closing) != slow_.messages.end(); });
  EXPECT_EQ(RowsOf(slow_), sent_);
  ASSERT_TRUE(Ask(*sleeper_, Value::List({Value::String(".u.closed"), Value::Symbol("slow"),
                                          closing.items()[1]}))
                  .ok());
  Until([&] { return slow_.messages.back().items()[0] == Value::Symbol(".u.end"); });
}

TEST_F(SlowSubscriberTest, IsDisconnectedWhenItReadsNothingForLong) {
  service_->set_stall_max(60s);
  FallBehind();
  Send();
  simulation_.RunFor(59s);
  EXPECT_EQ(Stat("subscribers"), 1);
  simulation_.RunFor(2s);
  EXPECT_EQ(Stat("subscribers"), 0);
  EXPECT_EQ(Stat("subscribers_dropped"), 1);
}

TEST_F(SlowSubscriberTest, HoldsAFeedThatAskedForAWindow) {
  FallBehind();
  Peer polite, other;
  wire::Connection& waiting = Connect(polite);
  ASSERT_TRUE(Ask(waiting, ".u.window[100000]").ok());
  EXPECT_FALSE(Ask(waiting, ".u.window[-1]").ok());
  EXPECT_FALSE(Ask(waiting, ".u.window[`a]").ok());
  const uint64_t before = service_->tickerplant().logged_seq();
  for (int i = 0; i < 100; ++i) waiting.SendAsync(UpdOf("quote", Quotes(kRows)));
  simulation_.RunFor(1s);
  const uint64_t taken = service_->tickerplant().logged_seq() - before;
  EXPECT_GE(taken, 100'000 / kRows);
  EXPECT_LE(taken, 100'000 / kRows + 2);
  EXPECT_EQ(Stat("feeds_waiting"), 1);
  Send();  // Other feeds are read.
  sleeper_->ResumeReading();
  Until([&] { return RowsOf(slow_) == sent_ + 100 * kRows; });
  EXPECT_EQ(Stat("feeds_waiting"), 0);
  EXPECT_LT(Stat("behind_rows"), 200'000);
}

TEST_F(SlowSubscriberTest, MayLeaveWhileItIsBehind) {
  FallBehind();
  sleeper_->Call(Value::String("1+1"), [](const absl::StatusOr<Value>&) {});
  for (int i = 0; i < 10; ++i) Send();
  clients_.erase(clients_.begin());
  Until([&] { return service_->tickerplant().subscribers() == 0; });
  Send();
  EXPECT_EQ(Stat("subscribers_behind"), 0);
}

TEST_F(TickerplantServiceTest, PausesFeedsWhileTheDiskIsFull) {
  Peer feed, other;
  wire::Connection& sender = Connect(feed);
  wire::Connection& asker = Connect(other);
  ASSERT_TRUE(Ask(sender, UpdOf("trade", Trade("A"))).ok());
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit small = old;
  small.rlim_cur = 200;
  ::setrlimit(RLIMIT_FSIZE, &small);
  for (int i = 0; i < 50; ++i) sender.SendAsync(UpdOf("trade", Trade("B")));
  Until([&] { return service_->tickerplant().counters().log_retries > 1; });
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(*Ask(asker, "1+1"), Value::Long(2));  // Other clients are answered.
  EXPECT_TRUE(failure_.ok());
  ::setrlimit(RLIMIT_FSIZE, &old);
  Until([&] { return service_->tickerplant().logged_seq() == 51; });
  ASSERT_TRUE(Ask(sender, UpdOf("trade", Trade("C"))).ok());
  EXPECT_EQ(service_->tickerplant().logged_seq(), 52u);
}

// Goal: a sync request with rows is answered once they are logged, in whatever form they come: the
// value of its expression, an error after the rows, and messages to the asking client. Method: the
// log cannot grow, so that an answer that comes too early is seen.
TEST_F(TickerplantServiceTest, AnswersATextWithRowsWhenTheyAreLogged) {
  const std::string row = "(2020.03.09D10;`B;1.5;100i;0b;\" \";\"N\")";
  const Value requests[] = {
      Value::String(".u.upd[`trade;" + row + "]"),
      Value::String("upd[`trade;" + row + "];1+1"),
      Value::String("upd[`trade;" + row + "];1+`a"),
      Value::String("value(`.u.upd;`trade;" + row + ")"),
      Value::String(".u.updn[`f;0;`trade;" + row + "]"),
      Value::List({Value::String("{upd[x;y];y 1}"), Value::Symbol("trade"), Trade("B")}),
      Value::String("upd[`trade;" + row + "];(neg .z.w)`logged;3"),
  };
  Peer peer;
  wire::Connection& asker = Connect(peer);
  uint64_t logged = 0;
  std::vector<absl::StatusOr<Value>> answers;
  for (const Value& request : requests) {
    SCOPED_TRACE(&request - requests);
    rlimit old{};
    ::getrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = old;
    small.rlim_cur = 1;
    ::setrlimit(RLIMIT_FSIZE, &small);
    std::optional<absl::StatusOr<Value>> answer;
    asker.Call(request, [&](absl::StatusOr<Value> a) { answer = std::move(a); });
    const uint64_t retries = service_->tickerplant().counters().log_retries;
    Until([&] { return answer || service_->tickerplant().counters().log_retries > retries + 1; });
    EXPECT_FALSE(answer.has_value());
    EXPECT_TRUE(peer.messages.empty());
    EXPECT_EQ(service_->tickerplant().logged_seq(), logged);
    ::setrlimit(RLIMIT_FSIZE, &old);
    Until([&] { return answer.has_value(); });
    EXPECT_EQ(service_->tickerplant().logged_seq(), ++logged);
    answers.push_back(*std::move(answer));
  }
  EXPECT_TRUE(answers[0]->is_null());
  EXPECT_EQ(*answers[1], Value::Long(2));
  EXPECT_EQ(Message(answers[2].status()), "type");
  EXPECT_EQ(*answers[5], Value::Symbol("B"));
  EXPECT_EQ(*answers[6], Value::Long(3));
  ASSERT_EQ(peer.messages.size(), 1U);
  EXPECT_EQ(peer.messages[0], Value::Symbol("logged"));
}

// A text that sends numbered rows asynchronously learns of a gap too.
TEST_F(TickerplantServiceTest, RefusesNumberedRowsOfATextByAMessage) {
  Peer peer;
  wire::Connection& connection = Connect(peer);
  connection.SendAsync(
      Value::String(".u.updn[`f;7;`trade;(2020.03.09D10;`B;1.5;100i;0b;\" \";\"N\")]"));
  Until([&] { return !peer.messages.empty(); });
  EXPECT_EQ(peer.messages[0].items()[0], Value::Symbol(".u.err"));
  EXPECT_THAT(std::string(peer.messages[0].items()[1].text()), HasSubstr("expected 0"));
}

TEST_F(TickerplantServiceTest, KnowsItsVariablesAndSaysNyiToTheRest) {
  Peer peer;
  wire::Connection& connection = Connect(peer);
  EXPECT_EQ(*Ask(connection, ".u.d"), Value::Date(DaysFromCivil(2020, 3, 9)));
  EXPECT_EQ(*Ask(connection, "tables[]"), Value::Symbols({"quote", "trade"}));
  EXPECT_EQ(Ask(connection, ".u.w")->keys(), Value::Symbols({"trade", "quote"}));
  EXPECT_TRUE(Ask(connection, "").ok());
  EXPECT_EQ(Message(Ask(connection, ".u.sub[`nosuch;`]").status()), "nosuch");
  EXPECT_FALSE(Ask(connection, "system \"ls\"").ok());
  EXPECT_FALSE(Ask(connection, ".u.sub[1;2]").ok());
  EXPECT_FALSE(Ask(connection, ".u.sub[`trade]").ok());
  EXPECT_EQ(Message(Ask(connection, std::string(20'000, ' ')).status()).substr(0, 5), "limit");
  // Many columns that all want the same name, few enough for the 20 ms that a loop has for a
  // request, also with sanitizers.
  std::string literal = "([]0 1";
  for (int i = 1; i < 250; ++i) literal += ";0 1";
  const absl::StatusOr<Value> table = Ask(connection, literal + ")");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->column_names()[249], "x249");
  for (int i = 250; i < 4097; ++i) literal += ";0 1";
  EXPECT_EQ(Message(Ask(connection, literal + ")").status()).substr(0, 5), "limit");
}

}  // namespace
}  // namespace tickstack::tickerplant
