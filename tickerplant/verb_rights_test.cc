// Goal: each right of a user is checked where the tickerplant uses it. Method: clients of several
// users, whose authenticator believes their names.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "base/logging.h"
#include "base/status.h"
#include "security/users_for_test.h"
#include "table/format_value.h"
#include "tickerplant/tickerplant_service.h"
#include "wire/client.h"
#include "wire/protocol.h"
#include "wire/simulation.h"

namespace tickstack::tickerplant {

namespace protocol = wire::protocol;

namespace {

using namespace std::chrono_literals;
using testing::StartsWith;

class Silent final : public wire::ClientHandler {
 public:
  void OnConnected(wire::Connection&) override {}
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override {}
};

class VerbRightsTest : public testing::Test {
 protected:
  VerbRightsTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("verb_rights_test." + std::to_string(::getpid()))) {
    InitLogging("test", LogLevel::kOff);
    std::filesystem::remove_all(directory_);
    Open();
  }
  ~VerbRightsTest() override {
    clients_.clear();
    server_.reset();
    service_.reset();
    std::filesystem::remove_all(directory_);
  }

  void Open() {
    TickerplantOptions options;
    options.schemas = DefaultSchemas();
    options.log_directory = directory_;
    auto plant = Tickerplant::Open(options, *DayClock::Create("UTC", 0, DaysFromCivil(2020, 3, 9)),
                                   &loop_.clock());
    EXPECT_TRUE(plant.ok()) << plant.status();
    service_ = std::make_unique<TickerplantService>(
        loop_, *std::move(plant), BatchClock(1'000'000, std::nullopt, loop_.clock().NowNs()),
        [](const absl::Status& why) { FAIL() << why; });
  }
  // Ends all connections and the tickerplant, and opens its log again.
  void Restart() {
    clients_.clear();
    server_.reset();
    EXPECT_TRUE(service_->Close().ok());
    service_.reset();
    Open();
  }
  void UseNoUsers() {
    server_ = *wire::Server::Listen(loop_, {"127.0.0.1", 0, ""}, {}, service_.get());
  }
  void UseUsers(std::map<std::string, security::Grants> grants) {
    wire::ServerOptions options;
    options.authenticator = std::make_shared<security::UsersForTest>(std::move(grants));
    server_ = *wire::Server::Listen(loop_, {"127.0.0.1", 0, ""}, options, service_.get());
  }
  wire::Connection& Connect(std::string user) {
    wire::ClientOptions options;
    options.user = std::move(user);
    clients_.push_back(std::make_unique<wire::Client>(
        loop_, wire::Address{"127.0.0.1", server_->port(), ""}, options, &silent_));
    EXPECT_TRUE(
        simulation_.RunUntil([&] { return clients_.back()->connection() != nullptr; }, 20s));
    return *clients_.back()->connection();
  }
  absl::StatusOr<Value> Ask(wire::Connection& connection, const Value& request) {
    std::optional<absl::StatusOr<Value>> answer;
    connection.Call(request, [&](absl::StatusOr<Value> a) { answer = std::move(a); });
    EXPECT_TRUE(simulation_.RunUntil([&] { return answer.has_value(); }, 20s));
    return *std::move(answer);
  }
  absl::StatusOr<Value> Ask(wire::Connection& connection, std::string_view q) {
    return Ask(connection, Value::String(q));
  }

  static Value Trade() {
    return Value::List({Value::Timestamp(5), Value::Symbol("IBM"), Value::Float(1.5), Value::Int(1),
                        Value::Boolean(false), Value::Char(' '), Value::Char('N')});
  }
  static Value Quote() {
    return Value::List({Value::Timestamp(5), Value::Symbol("IBM"), Value::Float(1), Value::Float(1),
                        Value::Long(1), Value::Long(1), Value::Char('a'), Value::Char('b')});
  }
  static Value UpdOf(std::string_view table, Value x) {
    return Value::List({Value::Symbol(".u.upd"), Value::Symbol(table), std::move(x)});
  }

  static Value Numbered(std::string_view feed, int64_t row) {
    return Value::List({Value::Symbol(".u.updn"), Value::Symbol(feed), Value::Long(row),
                        Value::Symbol("trade"), Trade()});
  }
  // Breaks the connections of all clients.
  void Disconnect() {
    clients_.clear();
    simulation_.RunFor(1s);
  }
  int64_t Logged(wire::Connection& connection, std::string_view feed) {
    const absl::StatusOr<Value> rows = Ask(connection, fmt::format(".u.feed[`{}]`trade", feed));
    EXPECT_TRUE(rows.ok()) << rows.status();
    return rows.ok() ? rows->as<int64_t>() : -1;
  }

  const std::string directory_;
  wire::Simulation simulation_{9'500 * kNsPerDay};
  wire::EventLoop& loop_ = simulation_.loop();
  Silent silent_;
  std::unique_ptr<TickerplantService> service_;
  std::unique_ptr<wire::Server> server_;
  std::vector<std::unique_ptr<wire::Client>> clients_;
};

std::string ErrorOf(const absl::StatusOr<Value>& answer) {
  return answer.ok() ? "an answer" : std::string(Message(answer.status()));
}

security::Grants Publishes(std::string_view table) {
  security::Grants grants;
  grants.publish.names.emplace(table);
  return grants;
}

TEST_F(VerbRightsTest, RowsNeedTheRightToPublishToTheirTable) {
  UseUsers({{"feed", Publishes("trade")}, {"reader", {}}, {"all", security::AllGrants()}});
  wire::Connection& feeding = Connect("feed");
  wire::Connection& reading = Connect("reader");
  wire::Connection& unlimited = Connect("all");
  EXPECT_TRUE(Ask(feeding, UpdOf("trade", Trade())).ok());
  EXPECT_TRUE(Ask(unlimited, UpdOf("quote", Quote())).ok());
  EXPECT_EQ(ErrorOf(Ask(feeding, UpdOf("quote", Quote()))),
            "access: feed may not publish to quote");
  EXPECT_EQ(ErrorOf(Ask(reading, UpdOf("trade", Trade()))),
            "access: reader may not publish to trade");
  const auto numbered = [](std::string_view table, Value x) {
    return Value::List({Value::Symbol(".u.updn"), Value::Symbol("f"), Value::Long(0),
                        Value::Symbol(table), std::move(x)});
  };
  EXPECT_EQ(ErrorOf(Ask(reading, numbered("trade", Trade()))),
            "access: reader may not publish to trade");
  EXPECT_TRUE(Ask(feeding, numbered("trade", Trade())).ok()) << "the name is free";
  EXPECT_EQ(ErrorOf(Ask(feeding, numbered("quote", Quote()))),
            "access: feed may not publish to quote");
  // In the text of an expression, too.
  const std::string text = ".u.upd[`quote;(0Np;`A;1f;1f;1;1;\"a\";\"b\")]";
  EXPECT_EQ(ErrorOf(Ask(feeding, text)), "access: feed may not publish to quote");
  EXPECT_EQ(ErrorOf(Ask(reading, "upd[`trade;()]")), "access: reader may not call upd");
  EXPECT_EQ(service_->tickerplant().logged_seq(), 3u);
}

TEST_F(VerbRightsTest, SubscriptionsNeedTheirTablesAndSymbols) {
  security::Grants desk;
  desk.subscribe["quote"].all = true;
  desk.subscribe["trade"].names = {"IBM", "VOD"};
  UseUsers({{"desk", desk}, {"all", security::AllGrants()}, {"nobody", {}}});
  wire::Connection& connection = Connect("desk");
  EXPECT_TRUE(Ask(connection, ".u.sub[`quote;`]").ok());
  EXPECT_TRUE(Ask(connection, ".u.sub[`trade;`IBM]").ok());
  EXPECT_TRUE(Ask(connection, ".u.subx[`trade`quote;`IBM`VOD]").ok());
  EXPECT_EQ(ErrorOf(Ask(connection, ".u.sub[`trade;`]")),
            "access: desk may not subscribe to all symbols of trade");
  EXPECT_EQ(ErrorOf(Ask(connection, ".u.sub[`trade;`IBM`AAPL]")),
            "access: desk may not subscribe to AAPL of trade");
  EXPECT_EQ(ErrorOf(Ask(connection, ".u.sub[`;`]")),
            "access: desk may not subscribe to all symbols of trade");
  EXPECT_THAT(ErrorOf(Ask(connection, ".u.log[0;1000]")),
              StartsWith("access: desk may not call .u.log"));
  EXPECT_THAT(ErrorOf(Ask(connection, ".u.logs[]")),
              StartsWith("access: desk may not call .u.logs"));
  EXPECT_THAT(ErrorOf(Ask(connection, ".u.chain[2020.03.09;0;1000]")),
              StartsWith("access: desk may not call .u.chain"));
  EXPECT_EQ(ErrorOf(Ask(Connect("nobody"), ".u.sub[`quote;`]")),
            "access: nobody may not subscribe to quote");
  wire::Connection& unlimited = Connect("all");
  EXPECT_TRUE(Ask(unlimited, ".u.sub[`;`]").ok());
  EXPECT_TRUE(Ask(unlimited, ".u.log[0;1000]").ok());
}

TEST_F(VerbRightsTest, WhatChangesTheTickerplantNeedsTheRightToAdminister) {
  security::Grants nearly = security::AllGrants();
  nearly.administer = false;
  UseUsers({{"nearly", nearly}, {"root", security::AllGrants()}});
  wire::Connection& connection = Connect("nearly");
  for (const std::string_view name :
       {".u.end", ".u.endofday", ".u.feeds", ".u.publisher", ".u.closer", ".u.closed", ".u.w"}) {
    const std::string args = name == ".u.closed" ? "[`a;2020.03.09]" : "[`a]";
    EXPECT_EQ(ErrorOf(Ask(connection, std::string(name) + args)),
              fmt::format("access: nearly may not call {}", name));
  }
  EXPECT_TRUE(Ask(connection, ".u.stats[]").ok());
  EXPECT_TRUE(Ask(connection, ".u `i`L").ok());
  EXPECT_EQ(service_->tickerplant().date(), DaysFromCivil(2020, 3, 9));
  wire::Connection& root = Connect("root");
  EXPECT_TRUE(Ask(root, ".u.w").ok());
  EXPECT_TRUE(Ask(root, ".u.endofday[]").ok());
  EXPECT_EQ(service_->tickerplant().date(), DaysFromCivil(2020, 3, 10));
}

TEST_F(VerbRightsTest, AFeedsNameIsTakenOverByItsUserOrWithTheRightToAdminister) {
  security::Grants root = security::AllGrants();
  UseUsers({{"a", Publishes("trade")}, {"b", Publishes("trade")}, {"root", root}});
  EXPECT_TRUE(Ask(Connect("a"), ".u.feed[`f;`one]").ok());
  wire::Connection& other = Connect("b");
  EXPECT_EQ(ErrorOf(Ask(other, ".u.feed[`f;`one]")), "access: b may not claim feed f, which a owns")
      << "also with the owner's instance";
  EXPECT_EQ(ErrorOf(Ask(other, ".u.feed[`f;`two;`takeover]")),
            "access: b may not claim feed f, which a owns");
  EXPECT_TRUE(Ask(Connect("a"), ".u.feed[`f;`two;`takeover]").ok());
  EXPECT_TRUE(Ask(Connect("root"), ".u.feed[`f;`three;`takeover]").ok());
}

// Goal: no other user's rows are ever numbered among those of a feed, which would skip as many of
// its own. Method: the feed's connection is broken; others try each way to use its name, also after
// a restart and after an end of day.
TEST_F(VerbRightsTest, AFeedsNameBelongsToItsUserWhenItIsNotConnected) {
  const std::map<std::string, security::Grants> users = {
      {"a", Publishes("trade")}, {"b", Publishes("trade")}, {"root", security::AllGrants()}};
  UseUsers(users);
  wire::Connection& owner = Connect("a");
  ASSERT_TRUE(Ask(owner, ".u.feed[`f;`one]").ok());
  ASSERT_TRUE(Ask(owner, Numbered("f", 0)).ok());
  // Without a claim, too.
  ASSERT_TRUE(Ask(owner, Numbered("g", 0)).ok());
  const auto expect_refused = [this](std::string_view feed) {
    Disconnect();
    wire::Connection& other = Connect("b");
    const std::string denied = fmt::format("access: b may not claim feed {}, which a owns", feed);
    for (const std::string_view claim :
         {";`one]", ";`two]", ";`two;`takeover]", ";`two;`again]", ";`two;`takeover`again]"}) {
      EXPECT_EQ(ErrorOf(Ask(other, fmt::format(".u.feed[`$\"{}\"{}", feed, claim))), denied)
          << claim;
    }
    EXPECT_EQ(ErrorOf(Ask(other, Numbered(feed, 0))), denied);
    EXPECT_EQ(ErrorOf(Ask(other, Numbered(feed, 1))), denied);
    EXPECT_EQ(
        ErrorOf(Ask(other,
                    fmt::format(".u.updn[`$\"{}\";1;`trade;(0Np;`A;1f;1i;0b;\" \";\"N\")]", feed))),
        denied);
    wire::Connection& root = Connect("root");
    const std::string held = fmt::format("held: feed {} belongs to user a: ", feed);
    EXPECT_THAT(ErrorOf(Ask(root, fmt::format(".u.feed[`$\"{}\";`x]", feed))), StartsWith(held));
    EXPECT_THAT(ErrorOf(Ask(root, Numbered(feed, 1))), StartsWith(held));
  };
  for (const std::string_view feed : {"f", "g"}) expect_refused(feed);
  // A name of the same rows under another map of shards.
  expect_refused("f.shards-0123456789abcdef");
  EXPECT_GT(Ask(Connect("root"), ".u.stats[]`feed_claims_refused")->as<int64_t>(), 10);
  EXPECT_EQ(Ask(Connect("root"), ".u.stats[]`feed_upds_refused")->as<int64_t>(), 12);
  Restart();
  UseUsers(users);
  for (const std::string_view feed : {"f", "g"}) expect_refused(feed);
  ASSERT_TRUE(Ask(Connect("root"), ".u.endofday[]").ok());
  for (const std::string_view feed : {"f", "g"}) expect_refused(feed);
  // The user goes on after the last row, with another instance.
  wire::Connection& again = Connect("a");
  EXPECT_EQ(Logged(again, "f"), 1);
  EXPECT_TRUE(Ask(again, ".u.feed[`f;`another]").ok());
  EXPECT_TRUE(Ask(again, Numbered("f", 1)).ok());
  EXPECT_EQ(Logged(again, "f"), 2);
}

TEST_F(VerbRightsTest, ATakeOverByAnAdministratorChangesTheOwnerOfANameForGood) {
  const std::map<std::string, security::Grants> users = {{"a", Publishes("trade")},
                                                         {"root", security::AllGrants()}};
  UseUsers(users);
  ASSERT_TRUE(Ask(Connect("a"), Numbered("f", 0)).ok());
  Disconnect();
  wire::Connection& root = Connect("root");
  ASSERT_TRUE(Ask(root, ".u.feed[`f;`x;`takeover]").ok());
  EXPECT_TRUE(Ask(root, Numbered("f", 0)).ok());  // Logged already.
  EXPECT_EQ(Logged(root, "f"), 1);
  EXPECT_TRUE(Ask(root, Numbered("f", 1)).ok());
  for (int i = 0; i < 2; ++i) {
    Disconnect();
    EXPECT_EQ(Logged(Connect("root"), "f"), 2);
    EXPECT_EQ(ErrorOf(Ask(Connect("a"), Numbered("f", 2))),
              "access: a may not claim feed f, which root owns");
    Restart();
    UseUsers(users);
  }
}

// A name that was used without a users file belongs to the first user that sends rows under it. If
// the users file is removed, everybody may claim each name; its rows are numbered on.
TEST_F(VerbRightsTest, NamesKeepTheirRowsWhenUsersComeAndGo) {
  const std::map<std::string, security::Grants> users = {{"a", Publishes("trade")},
                                                         {"b", Publishes("trade")}};
  UseNoUsers();
  ASSERT_TRUE(Ask(Connect("a"), Numbered("f", 0)).ok());
  Disconnect();
  EXPECT_EQ(Logged(Connect("b"), "f"), 1);
  ASSERT_TRUE(Ask(Connect("b"), Numbered("f", 1)).ok());
  Restart();
  UseUsers(users);
  EXPECT_EQ(Logged(Connect("a"), "f"), 2);
  EXPECT_TRUE(Ask(Connect("b"), ".u.feed[`f;`x]").ok()) << "a claim without rows";
  Disconnect();
  EXPECT_TRUE(Ask(Connect("a"), Numbered("f", 2)).ok());
  Disconnect();
  EXPECT_FALSE(Ask(Connect("b"), ".u.feed[`f;`x]").ok());
  Restart();
  UseNoUsers();
  EXPECT_EQ(Logged(Connect("b"), "f"), 3);
  EXPECT_TRUE(Ask(Connect("b"), ".u.feed[`f;`x]").ok());
  EXPECT_TRUE(Ask(*clients_.back()->connection(), Numbered("f", 3)).ok());
  Restart();
  UseUsers(users);
  EXPECT_EQ(Logged(Connect("b"), "f"), 4);
  EXPECT_EQ(ErrorOf(Ask(Connect("b"), Numbered("f", 4))),
            "access: b may not claim feed f, which a owns");
}

TEST_F(VerbRightsTest, NoFeedHasTheNameOfAnotherOnesRowsInTheIndex) {
  UseUsers({{"a", Publishes("trade")}, {"b", Publishes("trade")}});
  ASSERT_TRUE(Ask(Connect("a"), Numbered("f", 0)).ok());
  wire::Connection& other = Connect("b");
  for (const std::string_view name : {"f:owner:1:a", "f:owner:2:b", "g:owner:7:x"}) {
    const std::string refused = fmt::format("type: {} is no feed's name", name);
    EXPECT_THAT(ErrorOf(Ask(other, Numbered(name, 1))), StartsWith(refused));
    EXPECT_THAT(ErrorOf(Ask(other, fmt::format(".u.feed[`$\"{}\";`x]", name))),
                StartsWith(refused));
  }
  // These are names as any other.
  for (const std::string_view name :
       {"f:owner:0:a", "f:owner:1:", "f:owner:a", ":owner:1:a", "f:owner:1:a:b", "f:owner:x:a"}) {
    EXPECT_TRUE(Ask(other, Numbered(name, 0)).ok()) << name;
  }
  Restart();
  UseUsers({{"a", Publishes("trade")}, {"b", Publishes("trade")}});
  EXPECT_EQ(Logged(Connect("b"), "f"), 1);
  EXPECT_TRUE(Ask(Connect("b"), Numbered("f:owner:x:a", 1)).ok());
}

TEST_F(VerbRightsTest, TellsOnlyOfTablesThatTheUserMayKnow) {
  security::Grants subscribes, queries, metrics;
  subscribes.subscribe["trade"].names = {"IBM"};
  queries.query.names = {"trade"};
  metrics.metrics = true;
  UseUsers({{"feed", Publishes("trade")},
            {"desk", subscribes},
            {"reader", queries},
            {"nobody", {}},
            {"prometheus", metrics},
            {"all", security::AllGrants()}});
  wire::Connection& all = Connect("all");
  ASSERT_TRUE(Ask(all, UpdOf("quote", Quote())).ok());
  ASSERT_TRUE(Ask(all, Numbered("sends_quotes", 0)).ok());
  ASSERT_TRUE(Ask(Connect("feed"), Numbered("own", 0)).ok());
  const auto text_of = [this](wire::Connection& of, std::string_view q) {
    const absl::StatusOr<Value> answer = Ask(of, q);
    return answer.ok() ? FormatText(*answer) : std::string(Message(answer.status()));
  };
  for (const std::string_view q : {".u.activity[]", "tables[]", ".u.t", "\\a", ".u.feed[`own]"}) {
    EXPECT_THAT(text_of(all, q), testing::HasSubstr("quote")) << q;
    for (const std::string user : {"feed", "desk", "reader", "nobody"}) {
      const std::string text = text_of(Connect(user), q);
      EXPECT_THAT(text, testing::Not(testing::HasSubstr("quote"))) << user << " " << q;
      const bool may = q != ".u.feed[`own]" || user == "feed";
      if (may && user != "nobody")
        EXPECT_THAT(text, testing::HasSubstr("trade")) << user << " " << q;
    }
  }
  EXPECT_THAT(text_of(Connect("prometheus"), ".u.activity[]"), testing::HasSubstr("quote"));
  EXPECT_THAT(text_of(Connect("feed"), ".u.activity[]"), testing::HasSubstr("own"));
  EXPECT_EQ(ErrorOf(Ask(Connect("reader"), "quote")), "quote");
  EXPECT_TRUE(Ask(Connect("reader"), "trade").ok());
}

TEST_F(VerbRightsTest, BoundsTheRequestsOfAUserAndTheNamesOfClosers) {
  security::Grants few = security::AllGrants();
  few.requests_per_second = 2;
  UseUsers({{"few", few}});
  wire::Connection& connection = Connect("few");
  EXPECT_EQ(ErrorOf(Ask(connection, Value::List({Value::Symbol(".u.closer"),
                                                 Value::Symbol(std::string(257, 'x'))}))),
            "length: .u.closer[name]: a name of 257 bytes, at most 256");
  EXPECT_TRUE(Ask(connection, "1").ok());
  EXPECT_EQ(ErrorOf(Ask(connection, "1")), "limit: few may send 2 requests per second");
  EXPECT_TRUE(Ask(connection, UpdOf("trade", Trade())).ok()) << "rows are no requests";
  simulation_.RunFor(1s);
  EXPECT_TRUE(Ask(connection, "1").ok());
}

// Rows wait for acknowledgements: one that was dropped would cost the standby its place.
TEST_F(VerbRightsTest, BoundsNoAcknowledgementsOfAStandby) {
  class Set final : public InSyncSet {
   public:
    void Write(const MemberNames&, std::function<void(absl::Status)> done) override {
      done(absl::OkStatus());
    }
  };
  static Set set;  // It outlives the fixture's service.
  service_->Lead({"a", 1, 0, kNsPerSecond, {}}, &set);
  security::Grants few = security::AllGrants();
  few.requests_per_second = 1;
  UseUsers({{"few", few}});
  wire::Connection& connection = Connect("few");
  const absl::StatusOr<Value> answer = Ask(connection, RequestMessage({"b", 1, kNullInt, {}}));
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(ErrorOf(Ask(connection, "1")), "limit: few may send 1 requests per second");
  const ReplicaPlace start = ParseStart(*answer)->place;
  connection.SendAsync(AckMessage({1, start}));
  EXPECT_TRUE(simulation_.RunUntil(
      [&] { return service_->standbys()->Statuses()[0].state == "in_sync"; }, 500ms));
  connection.SendAsync(Value::Symbols({protocol::kReplicaAcked, "x"}));
  EXPECT_TRUE(
      simulation_.RunUntil([&] { return clients_.back()->connection() == nullptr; }, 500ms));
}

}  // namespace
}  // namespace tickstack::tickerplant
