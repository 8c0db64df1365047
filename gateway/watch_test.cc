// Goal: the watch knows what each shard has, and which shard is silent. Method: servers on loopback
// that answer its questions, or end the connection.

#include "gateway/watch.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/status.h"
#include "query/query.h"
#include "query/testing.h"
#include "wire/event_loop.h"
#include "wire/server.h"

namespace tickstack::gateway {
namespace {

// Has a day and a table.
class Process final : public wire::ServerHandler {
 public:
  Process(int32_t first_day, std::string table, std::string shard)
      : day(first_day), table_(std::move(table)), shard_(std::move(shard)) {
    auto server = wire::Server::Listen(loop_, {"127.0.0.1", 0, ""}, {}, this);
    TS_CHECK(server.ok());
    server_ = *std::move(server);
    thread_ = std::thread([this] { loop_.Run(); });
  }
  ~Process() override {
    loop_.Stop();
    thread_.join();
  }

  wire::Address address() const { return {"127.0.0.1", server_->port(), ""}; }

  void OnMessage(wire::Connection& connection, const wire::ReceivedMessage& message) override {
    if (message.kind != wire::MessageKind::kSync) return;
    const wire::ReplyTicket ticket = connection.TakeTicket();
    if (closes) return connection.Close(absl::OkStatus());
    if (answers) {
      const absl::StatusOr<Value> answer = answers(message.body);
      if (!answer.ok()) return connection.ReplyError(ticket, Message(answer.status()));
      return connection.Reply(ticket, *answer);
    }
    if (far_ms == 0) return Answer(connection, ticket);
    way_.Once(std::chrono::milliseconds(far_ms),
              [this, &connection, ticket] { Answer(connection, ticket); });
  }
  void Answer(wire::Connection& connection, const wire::ReplyTicket& ticket) {
    const int64_t states[] = {ready ? 1 : 0, 1}, keys[] = {1};
    const std::vector<int32_t> days(ready ? 1 : 0, day);
    // Before an rdb has heard from its tickerplant, it has no tables.
    const Value tables = Value::Symbols(ready ? SymbolVector{table_} : SymbolVector{});
    std::vector<Value> columns;
    if (ready) columns.push_back(Value::Symbols(SymbolVector{"date", "time", "sym"}));
    std::vector<Value> answer;
    answer.push_back(Value::Vector(Type::kLong, std::span<const int64_t>(states)));
    answer.push_back(Value::Vector(Type::kDate, std::span<const int32_t>(days)));
    answer.push_back(Value::Dict(tables, Value::List(std::move(columns))));
    answer.push_back(Value::Dict(tables, Value::Vector(Type::kLong, std::span(keys, days.size()))));
    answer.push_back(
        Value::Dict(tables, Value::Symbols(ready ? SymbolVector{"sym"} : SymbolVector{})));
    answer.push_back(AnswerOf({shard_, new_map ? "new" : "map"}));
    answer.push_back(Value::String(""));
    answer.push_back(Value::Long(was_ready ? 1 : 0));
    connection.Reply(ticket, Value::List(std::move(answer)));
  }
  void OnClosed(wire::Connection&, const absl::Status&) override { way_.Cancel(); }

  // Answers a question in place of this; set before the first one.
  std::function<absl::StatusOr<Value>(std::span<const std::byte>)> answers;
  std::atomic<int32_t> day;
  std::atomic<bool> closes{false};
  std::atomic<int> far_ms{0};         // How long a question and its answer are under way.
  std::atomic<bool> ready{true};      // It has read its log.
  std::atomic<bool> was_ready{true};  // The same, when it began to answer.
  std::atomic<bool> new_map{false};   // It has another map of shards than before.

 private:
  const std::string table_, shard_;
  wire::EventLoop loop_;
  wire::Timer way_{loop_};
  std::unique_ptr<wire::Server> server_;
  std::thread thread_;
};

// An hdb without a day, which loads day 3 of the table `trade` while it answers: `steps` accesses
// after the first one.
class LoadingHdb final : public query::TestEnvironment {
 public:
  explicit LoadingHdb(int steps) : steps_(steps) { CaptureTable("trade", "([]time:1 2;sym:`a`b)"); }

  std::vector<std::string> TableNames() override {
    return HasLoaded() ? TestEnvironment::TableNames() : std::vector<std::string>();
  }
  std::optional<Value> FindValue(std::string_view name) override {
    if (name != "date" || !HasLoaded()) return std::nullopt;
    const int32_t days[] = {3};
    return Value::Vector(Type::kDate, std::span<const int32_t>(days));
  }
  std::optional<Snapshot> FindTable(std::string_view name) override {
    return HasLoaded() ? TestEnvironment::FindTable(name) : std::nullopt;
  }
  bool has_loaded() const { return steps_ < 0; }

 private:
  bool HasLoaded() { return --steps_ < 0; }
  std::atomic<int> steps_;
};

// An rdb that gets the table `middle` while it answers: `steps` accesses after the first one.
class GrowingRdb final : public query::TestEnvironment {
 public:
  explicit GrowingRdb(int steps) : steps_(steps) {
    CaptureTable("first", "([]time:1 2;sym:`a`b)");
    CaptureTable("middle", "([]time:1 2;sym:`a`b)");
    CaptureTable("second", "([sym:`a`b]time:1 2)");
  }

  std::vector<std::string> TableNames() override {
    return HasGrown() ? TestEnvironment::TableNames() : std::vector<std::string>{"first", "second"};
  }
  std::optional<Snapshot> FindTable(std::string_view name) override {
    return HasGrown() || name != "middle" ? TestEnvironment::FindTable(name) : std::nullopt;
  }
  std::optional<absl::StatusOr<Value>> Call(std::string_view name,
                                            std::span<const Value> args) override {
    HasGrown();
    if (name == ".rdb.stats") {
      const int64_t states[] = {1, 1};
      return Value::Dict(Value::Symbols({"caught_up", "live"}),
                         Value::Vector(Type::kLong, std::span<const int64_t>(states)));
    }
    if (name == ".rdb.days") {
      const int32_t days[] = {3};
      return Value::Vector(Type::kDate, std::span<const int32_t>(days));
    }
    if (name == ".u.shard") return AnswerOf({"b", "map"});
    if (name == ".rdb.blocked") return Value::String("");
    return TestEnvironment::Call(name, args);
  }
  bool has_grown() const { return steps_ < 0; }

 private:
  bool HasGrown() { return --steps_ < 0; }
  std::atomic<int> steps_;
};

std::unique_ptr<Replicas> Only(const std::string& name, const Process& process) {
  return std::make_unique<Replicas>(name, std::vector{process.address()},
                                    std::vector<wire::Address>(), ReplicaOptions());
}

class WatchTest : public testing::Test {
 protected:
  std::vector<ShardReplicas> Shards() {
    std::vector<ShardReplicas> shards(2);
    shards[0].id = {"a", "map"};
    shards[0].last = Only("shard a: rdb", rdb_a_);
    shards[0].past = Only("shard a: hdb", hdb_a_);
    shards[1].id = {"b", "map"};
    shards[1].last = Only("shard b: rdb", rdb_b_);
    return shards;
  }

  // Returns the first contents in which all processes have answered: on a busy machine, not all do
  // in the first pass.
  static std::shared_ptr<const Contents> FirstOfAll(Watch& watch) {
    std::shared_ptr<const Contents> contents = watch.Get();
    while (!contents->status.ok()) contents = watch.GetNewer();
    return contents;
  }

  // Shard `a` has written day 3, which its rdb still has.
  Process rdb_a_{3, "trade", "a"}, hdb_a_{3, "trade", ""}, rdb_b_{3, "note", "b"};
};

TEST_F(WatchTest, EachShardHasItsDaysAndTables) {
  const std::vector<ShardReplicas> shards = Shards();
  Watch watch(shards);
  const std::shared_ptr<const Contents> contents = FirstOfAll(watch);
  ASSERT_EQ(contents->shards.size(), 2u);
  const ShardContents &a = contents->shards[0], &b = contents->shards[1];
  EXPECT_THAT(a.last.days, testing::IsEmpty());
  EXPECT_THAT(a.past.days, testing::ElementsAre(3));
  EXPECT_THAT(b.last.days, testing::ElementsAre(3)) << "shard a says nothing about shard b";
  EXPECT_THAT(b.past.days, testing::IsEmpty());
  EXPECT_EQ(a.last.tables.at("trade"), (std::vector<std::string>{"time", "sym"}));
  EXPECT_EQ(a.last.symbol_columns.at("trade"), "sym");
  EXPECT_EQ(a.last.shapes.at("trade").columns, (std::vector<std::string>{"date", "time", "sym"}));
  EXPECT_EQ(a.last.shapes.at("trade").key_columns, 1u);
  EXPECT_FALSE(b.last.tables.contains("trade"));
  EXPECT_TRUE(b.last.tables.contains("note"));
}

// Goal: no day without the tables that have rows of it, whenever an hdb loads its first day.
TEST_F(WatchTest, ADayIsNotKnownBeforeItsTables) {
  int with_day = 0, steps = 0;
  for (bool loads_within = true; loads_within; ++steps) {
    LoadingHdb hdb(steps);
    Process process(0, "", "");
    process.answers = [&hdb](std::span<const std::byte> body) {
      return query::EvaluateMessage(body, hdb, {});
    };
    std::vector<ShardReplicas> shards = Shards();
    shards[1].past = Only("shard b: hdb", process);
    Watch watch(shards);
    // A later pass has all of it.
    const std::shared_ptr<const Contents> contents = FirstOfAll(watch);
    const ShardContents& b = contents->shards[1];
    if (b.past.days.empty()) {
      EXPECT_THAT(b.last.days, testing::ElementsAre(3)) << steps;
    } else {
      EXPECT_TRUE(b.past.tables.contains("trade")) << steps;
      ++with_day;
    }
    loads_within = hdb.has_loaded();
  }
  EXPECT_GT(with_day, 0);
  EXPECT_GE(steps, 4) << "it must load at different moments of an answer";
}

// Goal: columns, keys and symbol column of a table belong together, whenever an rdb gets a table
// while it answers. No table has the keys of another one, or lacks the column by which its rows are
// spread: without that, only the first shard would be asked.
TEST_F(WatchTest, ATableIsKnownAsAWhole) {
  int with_table = 0, steps = 0;
  for (bool grows_within = true; grows_within; ++steps) {
    GrowingRdb rdb(steps);
    Process process(0, "", "");
    process.answers = [&rdb](std::span<const std::byte> body) {
      return query::EvaluateMessage(body, rdb, {});
    };
    std::vector<ShardReplicas> shards = Shards();
    shards[1].last = Only("shard b: rdb", process);
    Watch watch(shards);
    const std::shared_ptr<const Contents> contents = FirstOfAll(watch);
    const ShardContents& b = contents->shards[1];
    for (const auto& [table, columns] : b.last.tables) {
      ASSERT_TRUE(b.last.shapes.contains(table)) << steps << table;
      EXPECT_EQ(b.last.shapes.at(table).key_columns, table == "second" ? 1u : 0u) << steps << table;
      EXPECT_TRUE(b.last.symbol_columns.contains(table)) << steps << table;
    }
    EXPECT_TRUE(b.last.tables.contains("first")) << steps;
    EXPECT_TRUE(b.last.tables.contains("second")) << steps;
    if (b.last.tables.contains("middle")) ++with_table;
    grows_within = rdb.has_grown();
  }
  EXPECT_GT(with_table, 0);
  EXPECT_GE(steps, 10) << "it must grow at different moments of an answer";
}

// Goal: answers of a process that is far away are not always too late. On a busy machine, some are.
TEST_F(WatchTest, AFarProcessIsHeard) {
  rdb_b_.far_ms = 120;
  const std::vector<ShardReplicas> shards = Shards();
  Watch watch(shards);
  FirstOfAll(watch);
  const auto becomes = [&](std::string_view said) {
    for (int i = 0; i < 100; ++i) {
      const absl::Status now = watch.GetNewer()->shards[1].now;
      if (said.empty() ? now.ok() : Message(now).find(said) != std::string_view::npos) return true;
    }
    return false;
  };
  rdb_b_.ready = false;
  EXPECT_TRUE(becomes("it has not read its whole log"));
  rdb_b_.ready = true;
  EXPECT_TRUE(becomes(""));
  constexpr int kLooks = 20;
  int heard = 0;
  for (int tries = 0; tries < 50 && heard < kLooks; ++tries) {
    heard = 0;
    for (int i = 0; i < kLooks; ++i) {
      heard += shards[1].last->at(0).IsSilent(SteadyNs()) ? 0 : 1;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  EXPECT_EQ(heard, kLooks);
}

TEST_F(WatchTest, AShardThatHasNeverAnsweredIsNamed) {
  rdb_b_.closes = true;
  const std::vector<ShardReplicas> shards = Shards();
  Watch watch(shards);
  const std::shared_ptr<const Contents> contents = watch.Get();
  EXPECT_TRUE(contents->shards[0].status.ok()) << contents->shards[0].status;
  EXPECT_EQ(contents->status, contents->shards[1].status);
  EXPECT_THAT(Message(contents->status),
              testing::StartsWith("shard b: rdb: no answer: " + rdb_b_.address().ToString()));
  rdb_b_.closes = false;
  while (!watch.GetNewer()->status.ok()) {
  }
}

TEST_F(WatchTest, AShardThatFallsSilentKeepsWhatItHad) {
  const std::vector<ShardReplicas> shards = Shards();
  Watch watch(shards);
  FirstOfAll(watch);
  rdb_b_.closes = true;
  while (watch.GetNewer()->shards[1].last.processes[0].failure.empty()) {
  }
  const std::shared_ptr<const Contents> contents = watch.Get();
  EXPECT_TRUE(contents->status.ok()) << contents->status;
  EXPECT_THAT(contents->shards[1].last.days, testing::ElementsAre(3));
  EXPECT_TRUE(contents->shards[0].last.processes[0].failure.empty());
}

// Goal: the rows of a day are not omitted between the moment when the rdbs drop it and the one when
// the hdb has it. The rdb that writes it may be none of those that the gateway asks.
TEST_F(WatchTest, ADayThatTheRdbsDroppedIsKnownUntilTheHdbHasIt) {
  rdb_a_.day = 4;
  const std::vector<ShardReplicas> shards = Shards();
  Watch watch(shards);
  const std::shared_ptr<const Contents> first = FirstOfAll(watch);
  ASSERT_THAT(first->shards[0].last.days, testing::ElementsAre(4));
  rdb_a_.day = rdb_b_.day = 5;
  for (const size_t shard : {size_t{0}, size_t{1}}) {
    while (watch.GetNewer()->shards[shard].last.days.back() != 5) {
    }
  }
  const std::shared_ptr<const Contents> between = watch.GetNewer();
  EXPECT_THAT(between->shards[0].last.days, testing::ElementsAre(4, 5));
  EXPECT_THAT(between->days, testing::ElementsAre(3, 4, 5));
  EXPECT_THAT(between->shards[1].last.days, testing::ElementsAre(5)) << "shard b has no hdb";
  hdb_a_.day = 4;
  while (watch.GetNewer()->shards[0].past.days.back() != 4) {
  }
  EXPECT_THAT(watch.Get()->shards[0].last.days, testing::ElementsAre(5));
}

TEST_F(WatchTest, ADayThatWasBegunByMistakeIsForgotten) {
  rdb_a_.day = 9;
  const std::vector<ShardReplicas> shards = Shards();
  Watch watch(shards);
  ASSERT_THAT(FirstOfAll(watch)->shards[0].last.days, testing::ElementsAre(9));
  rdb_a_.day = 4;  // Its tickerplant was started with the wrong date.
  while (watch.GetNewer()->shards[0].last.days.front() != 4) {
  }
  EXPECT_THAT(watch.Get()->shards[0].last.days, testing::ElementsAre(4));
}

TEST_F(WatchTest, AnRdbThatHasNotReadItsLogSaysNothingAboutItsShard) {
  rdb_b_.ready = false;
  const std::vector<ShardReplicas> shards = Shards();
  Watch watch(shards);
  EXPECT_EQ(Message(watch.Get()->status),
            fmt::format("shard b: rdb: no answer: {}: it has not read its whole log yet",
                        rdb_b_.address().ToString()));
  EXPECT_EQ(shards[1].last->at(0).health, Health::kBehind);
  rdb_b_.ready = true;
  while (!watch.GetNewer()->status.ok()) {
  }
  EXPECT_EQ(shards[1].last->at(0).health, Health::kLive);
  EXPECT_TRUE(watch.Get()->shards[1].now.ok());

  // It begins again with another log.
  rdb_b_.was_ready = false;
  while (watch.GetNewer()->shards[1].now.ok()) {
  }
  EXPECT_TRUE(watch.Get()->status.ok());
  EXPECT_EQ(shards[1].last->at(0).health, Health::kBehind);
  rdb_b_.ready = false;
  watch.GetNewer();
  const std::shared_ptr<const Contents> contents = watch.GetNewer();
  const ShardContents& b = contents->shards[1];
  EXPECT_THAT(b.last.days, testing::ElementsAre(3)) << "it keeps what it had";
  EXPECT_TRUE(b.last.tables.contains("note"));
  EXPECT_THAT(Message(b.now), testing::EndsWith("it has not read its whole log yet"));
}

TEST_F(WatchTest, AnRdbWithAnotherMapSaysNothingAboutItsShard) {
  rdb_b_.new_map = true;
  const std::vector<ShardReplicas> shards = Shards();
  Watch watch(shards);
  EXPECT_EQ(
      Message(watch.Get()->status),
      fmt::format("shard b: rdb: no answer: {}: it is shard b of the map new, expected shard b "
                  "of the map map",
                  rdb_b_.address().ToString()));
  EXPECT_EQ(shards[1].last->at(0).health, Health::kOther);
  rdb_b_.new_map = false;
  while (!watch.GetNewer()->status.ok()) {
  }
  EXPECT_EQ(shards[1].last->at(0).health, Health::kLive);
}

TEST_F(WatchTest, AGatewayWithoutShardsRefusesAnRdbOfAShard) {
  std::vector<ShardReplicas> shards(1);
  shards[0].last = Only("rdb", rdb_b_);
  Watch watch(shards);
  EXPECT_THAT(Message(watch.Get()->status),
              testing::EndsWith("it is shard b of the map map, expected no shard"));
}

}  // namespace
}  // namespace tickstack::gateway
