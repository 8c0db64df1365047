#include "tickerplant/cluster/cluster_member.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>

#include "base/logging.h"
#include "security/users_for_test.h"
#include "table/format_value.h"
#include "tplog/tplog_for_test.h"
#include "wire/codec.h"
#include "wire/listener_options.h"
#include "wire/server.h"
#include "wire/simulation.h"

namespace tickstack::tickerplant {
namespace {

using namespace std::chrono_literals;

constexpr int32_t kDay = 7373;  // 2020.03.09.

// One value, in memory.
class FakeStore final : public ElectionStore {
 public:
  explicit FakeStore(wire::EventLoop& loop) : loop_(loop) {}
  void Read(std::function<void(absl::StatusOr<Record>)> done) override {
    loop_.Post([this, done = std::move(done)] { done(record); });
  }
  void Write(uint64_t revision, std::string value,
             std::function<void(absl::StatusOr<Written>)> done) override {
    loop_.Post([this, revision, value = std::move(value), done = std::move(done)] {
      const bool replaces = record.revision == revision;
      if (replaces) record = {revision + 1, value};
      done(Written{replaces, record});
    });
  }
  Record record;

 private:
  wire::EventLoop& loop_;
};

class ClusterMemberTest : public tplog::TplogTest {
 protected:
  ClusterMemberTest() { InitLogging("test", LogLevel::kOff); }

  // True if a member `a` with these options is elected within five seconds.
  bool Leads(const ReplicationOptions& options = {}) {
    bool elected = false;
    absl::StatusOr<std::unique_ptr<ClusterMember>> member = ClusterMember::Start(
        simulation_.loop(), "a", options, {.directory = directory_}, &store_,
        [&] { elected = true; }, [](const absl::Status&) {});
    EXPECT_TRUE(member.ok()) << member.status();
    simulation_.RunUntil([&] { return elected; }, 5s);
    return elected;
  }
  void MakeLog(int messages = 0) {
    auto log = *StandbyLog::Open({.directory = directory_});
    ASSERT_TRUE(log->Begin(kDay, {}).ok());
    const ByteBuffer upd = tplog::UpdMessage("trade", 1, 0);
    for (int i = 0; i < messages; ++i) {
      ReplicaBlock block;
      block.at = log->place();
      block.tables = {"trade"};
      block.rows = {1};
      block.messages = 1;
      block.bytes = upd;
      ASSERT_TRUE(log->Append(block).ok());
    }
    if (messages == 0) return;
    ASSERT_TRUE(log->NoteLogged(log->place()).ok());
  }
  void SetInSync(const MemberNames& names) {
    store_.record = {store_.record.revision + 1, TextOf({3, "", "", 1, names})};
  }

  wire::Simulation simulation_{9'500 * kNsPerDay};
  FakeStore store_{simulation_.loop()};
};

// Goal: an empty member does not begin a cluster whose other members have logs. Such a leader would
// make them cut their rows.
TEST_F(ClusterMemberTest, NobodyBeginsAClusterWithoutAnEntryUnlessItIsNamed) {
  EXPECT_FALSE(Leads());
  MakeLog();
  EXPECT_FALSE(Leads());
  ReplicationOptions options;
  options.first_leader = "a";
  EXPECT_TRUE(Leads(options));
}

// Method: its first message says that the log has been there before, and NAME.logged that it was
// longer.
TEST_F(ClusterMemberTest, NobodyBeginsAClusterWithALogThatMayLackRows) {
  MakeLog(2);
  ReplicationOptions options;
  options.first_leader = "a";
  EXPECT_TRUE(Leads(options));
  store_.record = {};
  Write(directory_ + "/sym.logged", fmt::format("{:<39}\n", FormatDate(kDay) + " 3"));
  EXPECT_FALSE(Leads(options));
  std::filesystem::remove(directory_ + "/sym.may-lack-rows");
  std::filesystem::remove(directory_ + "/sym.logged");
  EXPECT_TRUE(Leads(options));
}

TEST_F(ClusterMemberTest, AMemberWithoutALogDoesNotLead) {
  SetInSync({"a"});
  EXPECT_FALSE(Leads());
}

// The write that made it the first leader took place after it had given it up.
TEST_F(ClusterMemberTest, TheFirstLeaderLeadsWithoutALogIfNothingWasLoggedYet) {
  const auto leads = [this](uint64_t epoch, const MemberNames& names, size_t acknowledge) {
    store_.record = {store_.record.revision + 1, TextOf({epoch, "", "", 1, names})};
    ReplicationOptions options;
    options.first_leader = "a";
    options.acknowledge = acknowledge;
    return Leads(options);
  };
  EXPECT_FALSE(leads(1, {"a"}, 0));  // It may have logged alone.
  EXPECT_FALSE(leads(1, {"a", "b"}, 1));
  EXPECT_FALSE(leads(2, {"a"}, 1));
  EXPECT_TRUE(leads(1, {"a"}, 1));
}

// Method: its log is new, as after the loss of a disk, and no leader has said that it is complete.
TEST_F(ClusterMemberTest, AMemberThatMayLackRowsLeadsOnlyIfNoOtherMay) {
  MakeLog();
  SetInSync({"a", "b"});
  EXPECT_FALSE(Leads());
  SetInSync({"a"});
  ReplicationOptions never_alone;
  never_alone.acknowledge = 1;
  EXPECT_FALSE(Leads(never_alone));
  EXPECT_TRUE(Leads());
  // As the leader it has all rows.
  SetInSync({"a", "b"});
  EXPECT_TRUE(Leads());
}

// A leader that remembers what a standby says, and takes at most `arguments`: those of earlier
// versions take fewer.
class Leader final : public wire::ServerHandler {
 public:
  explicit Leader(size_t arguments) : arguments_(arguments) {}
  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    const Value value = wire::Decode(message.body).value();
    const std::vector<Value>& items = value.items();
    if (items[0].text() == ".u.replicate") {
      const auto request = ParseRequest(std::span(items).subspan(1));
      ASSERT_TRUE(request.ok()) << request.status();
      requests.push_back(*request);
      if (items.size() - 1 > arguments_) {
        return connection.ReplyError(connection.TakeTicket(), "rank: .u.replicate[], found more");
      }
      return connection.Reply(connection.TakeTicket(), StartAnswer({1, {kDay, 2}, {}}));
    }
    acks.push_back(ParseAck(std::span(items).subspan(1))->clock_ns);
  }
  void OnClosed(wire::Connection&, const absl::Status&) override {}

  std::vector<ReplicaRequest> requests;
  std::vector<std::optional<int64_t>> acks;

 private:
  const size_t arguments_;
};

TEST_F(ClusterMemberTest, AStandbyTellsItsTablesAndItsClockToALeaderThatWantsToKnow) {
  MakeLog(2);
  for (const size_t arguments : {8u, 7u, 6u}) {
    SCOPED_TRACE(arguments);
    Leader leader(arguments);
    const auto server = *wire::Listen(simulation_.loop(), {}, {}, &leader);
    const auto log = *StandbyLog::Open({.directory = directory_, .tables = "t n j\n"});
    Standby standby(simulation_.loop(), "b", log.get(), [](const absl::Status&) {});
    standby.Follow({"127.0.0.1", server->port(), {}}, 1);
    ASSERT_TRUE(simulation_.RunUntil([&] { return !leader.acks.empty(); }, 5s));
    EXPECT_EQ(leader.requests.size(), 9 - arguments);
    ASSERT_TRUE(leader.requests[0].clock_ns.has_value());
    EXPECT_EQ(leader.requests[0].tables, "t n j\n");
    EXPECT_NEAR(static_cast<double>(*leader.requests[0].clock_ns), 9'500.0 * kNsPerDay, 20e9);
    EXPECT_EQ(leader.requests.back().tables.empty(), arguments < 8);
    EXPECT_EQ(leader.requests.back().clock_ns.has_value(), arguments > 6);
    EXPECT_EQ(leader.acks.back().has_value(), arguments > 6);
    standby.Stop();
  }
}

// A member that does not follow, because of its tables.
class RefusedMember final : public ClusterRole {
 public:
  absl::Status Stop() override { return absl::OkStatus(); }
  OpenedLog TakeLog() override { return {}; }
  void Lead(TickerplantService&) override {}
  void NoteLogged(ReplicaPlace) override {}
  Value Stats() const override {
    return Value::Dict(Value::Symbols({"role", "error"}),
                       Value::List({Value::Symbol("standby"),
                                    Value::String("tables: table secret is only here")}));
  }

 private:
  std::string Refusal() const override { return "standby: a leads"; }
};

class SilentClient final : public wire::ClientHandler {
 public:
  void OnConnected(wire::Connection&) override {}
  void OnMessage(wire::Connection&, const wire::ReceivedMessage&) override {}
  void OnClosed(wire::Connection&, const absl::Status&) override {}
};

TEST_F(ClusterMemberTest, WhyAMemberDoesNotFollowIsForUsersWhoMayKnowAllTables) {
  RefusedMember member;
  SilentClient silent;
  security::Grants one_table;
  one_table.query.names = {"trade"};
  wire::ServerOptions options;
  options.authenticator =
      std::make_shared<security::UsersForTest>(std::map<std::string, security::Grants>{
          {"reader", one_table}, {"all", security::AllGrants()}});
  const auto server =
      *wire::Server::Listen(simulation_.loop(), {"127.0.0.1", 0, ""}, options, &member);
  for (const std::string user : {"reader", "all"}) {
    wire::ClientOptions as_user;
    as_user.user = user;
    const wire::Client client(simulation_.loop(), {"127.0.0.1", server->port(), {}}, as_user,
                              &silent);
    ASSERT_TRUE(simulation_.RunUntil([&] { return client.connection() != nullptr; }, 5s));
    std::optional<absl::StatusOr<Value>> answer;
    client.connection()->Call(Value::String(".u.replica[]"),
                              [&](const absl::StatusOr<Value>& got) { answer = got; });
    ASSERT_TRUE(simulation_.RunUntil([&] { return answer.has_value(); }, 5s));
    ASSERT_TRUE(answer->ok()) << answer->status();
    EXPECT_EQ(FormatText(**answer).find("secret") != std::string::npos, user == "all")
        << FormatText(**answer);
  }
}

}  // namespace
}  // namespace tickstack::tickerplant
