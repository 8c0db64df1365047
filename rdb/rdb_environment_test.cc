#include "rdb/rdb_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/status.h"
#include "query/columns/errors.h"
#include "query/query.h"
#include "query/testing.h"
#include "wire/codec.h"

namespace tickstack::rdb {
namespace {

using testing::HasSubstr;

Schema TradeSchema() { return *ParseSchema("trade", "time p, sym s, price f"); }

PlacementRules Rules() {
  PlacementRules rules;
  rules.Set("default", "far");
  rules.Set("trade.time", "near");
  rules.Set("index", "near");
  return rules;
}

class RdbEnvironmentTest : public testing::Test {
 protected:
  RdbEnvironmentTest() { InitLogging("test", LogLevel::kOff); }

  Value Ask(std::string_view name, const Value& argument = Value()) {
    const std::optional<absl::StatusOr<Value>> answer = environment_.Call(name, {&argument, 1});
    EXPECT_TRUE(answer.has_value() && answer->ok());
    return answer.has_value() && answer->ok() ? **answer : Value();
  }
  int64_t AskLong(std::string_view name, std::string_view key, const Value& argument = Value()) {
    const Value answer = Ask(name, argument);
    for (size_t i = 0; i < answer.count(); ++i) {
      if (answer.keys().symbols()[i] == key) return answer.values().span<int64_t>()[i];
    }
    ADD_FAILURE() << name << " has no " << key;
    return -1;
  }
  static ByteBuffer Trades(std::string_view table) {
    const int64_t times[] = {1, 2};
    const double prices[] = {1.5, 2.5};
    ByteBuffer body;
    wire::Encode(
        Value::List({Value::Symbol("upd"), Value::Symbol(table),
                     Value::Table({"time", "sym", "price"},
                                  {Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                                   Value::Symbols({"A", "B"}),
                                   Value::Vector(Type::kFloat, std::span<const double>(prices))})}),
        body);
    return body;
  }
  void TakeTrades(std::string_view table) { rdb_.OnLive(Trades(table)); }

  ManualClock clock_{0};
  std::unique_ptr<mem::Tier> near_ = mem::MakeDramTier("near", size_t{64} << 20);
  std::unique_ptr<mem::Tier> far_ = mem::MakeDramTier("far");
  Rdb rdb_{
      {.table = {}, .infer_schemas = true}, Placement(Rules(), {near_.get(), far_.get()}), &clock_};
  RdbEnvironment environment_{&rdb_, &clock_};
};

TEST_F(RdbEnvironmentTest, KnowsEachFunctionThatItNames) {
  for (const std::string& name : environment_.FunctionNames()) {
    EXPECT_TRUE(environment_.Call(name, {}).has_value()) << name;
  }
}

// Goal: a request sees the tables of its beginning, though a day ends or is handed over in the
// middle. Otherwise it could combine rows of a day with another table that has that day no more.
// Method: something happens whenever the request asks for the time. q evaluates the items of a list
// from the right, so the items beside `.z.p` are before and after that.
TEST_F(RdbEnvironmentTest, ARequestKeepsTheTablesOfItsBeginning) {
  class ActingClock final : public Clock {
   public:
    int64_t NowNs() const override {
      act();
      return 0;
    }
    int64_t MonotonicNs() const override { return 0; }
    std::function<void()> act;
  };
  class Keeper final : public DayKeeper {
   public:
    void OnDayEnded(EndedDay ended) override { day = std::move(ended); }
    void OnReplayDone(const std::string& /*log_path*/, std::vector<Schema> /*schemas*/) override {}
    EndedDay day;
  };
  ActingClock clock;
  RdbEnvironment environment(&rdb_, &clock);
  const auto show = [&environment](std::string_view text) {
    const absl::StatusOr<Value> answer =
        query::EvaluateRequest(Value::String(text), *environment.ForRequest());
    return answer.ok() ? query::Show(*answer) : "'" + query::QErrorText(answer.status());
  };
  const auto end_day = [this](int32_t day) {
    ByteBuffer body;
    wire::Encode(Value::List({Value::Symbol(".u.end"), Value::Date(day)}), body);
    rdb_.OnLive(body);
  };
  const std::string request = "(count trade;null .z.p;count quote)";
  const auto take = [this] {
    for (const char* table : {"trade", "quote"}) TakeTrades(table);
  };
  take();
  clock.act = take;
  EXPECT_EQ(show(request), "(4;0b;2)") << "rows that are added are visible";

  // The rows of an rdb that keeps no days go when the day ends.
  clock.act = [&] { end_day(1); };
  EXPECT_EQ(show(request), "(4;0b;4)");
  EXPECT_EQ(show("(count trade;count quote)"), "0 0");

  Keeper keeper;
  rdb_.KeepDays(&keeper);
  take();
  clock.act = [&] {
    end_day(2);
    take();
  };
  EXPECT_EQ(show(request), "(2;0b;2)") << "rows of the next day are for the next request";
  EXPECT_EQ(show("(count trade;count quote)"), "4 4");
  clock.act = [&] { rdb_.DropDay(keeper.day); };
  EXPECT_EQ(show(request), "(4;0b;4)");
  EXPECT_EQ(show("(count trade;count quote)"), "2 2");
}

TEST_F(RdbEnvironmentTest, SaysWhichShardItIs) {
  const ShardId shard{"b", "0123456789abcdef"};
  RdbEnvironment of_shard(&rdb_, &clock_, shard);
  EXPECT_EQ(**of_shard.Call(".u.shard", {}), AnswerOf(shard));
  EXPECT_EQ(**environment_.Call(".u.shard", {}), AnswerOf({}));
}

TEST_F(RdbEnvironmentTest, OnlyAResetChangesIt) {
  const Value reset = Value::Symbol("reset");
  for (const std::string& name : environment_.FunctionNames()) {
    EXPECT_FALSE(environment_.Changes(name, {})) << name;
    EXPECT_EQ(environment_.Changes(name, {&reset, 1}), name == ".rdb.latency") << name;
  }
  EXPECT_FALSE(environment_.Changes("system", {&reset, 1})) << "there is no such function";
}

TEST_F(RdbEnvironmentTest, SaysWhereTheColumnsOfATableAre) {
  const Schema schema = TradeSchema();
  rdb_.OnSchemas({&schema, 1});
  EXPECT_EQ(Ask(".tier.of", Value::Symbol("trade")),
            Value::Dict(Value::Symbols({"time", "sym", "price", "index"}),
                        Value::Symbols({"near", "far", "far", "near"})));
  const Value nowhere = Value::Symbol("quote");
  EXPECT_EQ(Message(environment_.Call(".tier.of", {&nowhere, 1})->status()),
            "quote: no table has this name");
  const Value wrong = Value::Long(1);
  EXPECT_EQ(Message(environment_.Call(".tier.of", {&wrong, 1})->status()),
            "type: .tier.of does not take that");
}

TEST_F(RdbEnvironmentTest, CountsRowsTheirLatencyAndQueries) {
  const Schema schema = TradeSchema();
  rdb_.OnSchemas({&schema, 1});
  clock_.Set(1001);
  TakeTrades("trade");
  rdb_.OnLogged(Trades("trade"));
  rdb_.OnLogged(Trades("trade"));
  EXPECT_EQ(AskLong(".rdb.stats", "rows"), 2);
  EXPECT_EQ(AskLong(".rdb.stats", "rows_replayed"), 4);
  EXPECT_EQ(AskLong(".rdb.stats", "symbols"), 2);
  EXPECT_EQ(AskLong(".rdb.latency", "count"), 2);
  EXPECT_EQ(AskLong(".rdb.latency", "max"), 1000);
  EXPECT_EQ(AskLong(".rdb.latency", "count", Value::Symbol("reset")), 2);
  EXPECT_EQ(AskLong(".rdb.latency", "count"), 0);
  environment_.queries().queries = 3;
  EXPECT_EQ(AskLong(".rdb.stats", "queries"), 3);
  const Value wrong = Value::Long(1);
  EXPECT_FALSE(environment_.Call(".rdb.stats", {&wrong, 1})->ok());
}

TEST_F(RdbEnvironmentTest, SaysWhatEachColumnTakesAndEachTierHolds) {
  const Schema schema = TradeSchema();
  rdb_.OnSchemas({&schema, 1});
  TakeTrades("trade");
  const Value parts = Ask(".tier.of");
  EXPECT_EQ(*parts.FindColumn("table"), Value::Symbols({"trade", "trade", "trade", "trade"}));
  EXPECT_EQ(*parts.FindColumn("column"), Value::Symbols({"time", "sym", "price", "index"}));
  EXPECT_EQ(*parts.FindColumn("tier"), Value::Symbols({"near", "far", "far", "near"}));
  const std::span<const int64_t> bytes = parts.FindColumn("bytes")->span<int64_t>();
  for (const int64_t taken : bytes) EXPECT_GT(taken, 0);

  const Value tiers = Ask(".tier.stats");
  EXPECT_EQ(*tiers.FindColumn("tier"), Value::Symbols({"near", "far"}));
  EXPECT_EQ(*tiers.FindColumn("kind"), Value::Symbols({"dram", "dram"}));
  EXPECT_EQ(*tiers.FindColumn("capacity"), Value::Longs({int64_t{64} << 20, kInfinityLong}));
  EXPECT_EQ(*tiers.FindColumn("used"), Value::Longs({bytes[0] + bytes[3], bytes[1] + bytes[2]}));
  EXPECT_EQ(*tiers.FindColumn("refused"), Value::Longs({0, 0}));
  EXPECT_EQ(*tiers.FindColumn("overflow_capacity"), Value::Longs({0, 0}));
  EXPECT_EQ(*tiers.FindColumn("overflow_used"), Value::Longs({0, 0}));
  EXPECT_EQ(*tiers.FindColumn("passes_on"), Value::Longs({0, 0}));
  EXPECT_EQ(*tiers.FindColumn("path"), Value::Symbols({"", ""}));
  EXPECT_EQ(*tiers.FindColumn("model"), Value::Symbols({"", ""}));
  EXPECT_EQ(tiers.FindColumn("dax")->type(), Type::kBoolean);
  EXPECT_GT(tiers.FindColumn("resident")->span<int64_t>()[0], 0);
}

// Goal: a key that names nothing is reported once, whether the schemas come from a tickerplant or
// from the first upd. Method: reads the log's lines.
TEST_F(RdbEnvironmentTest, LogsKeysOfThePlacementThatNameNothing) {
  PlacementRules rules = Rules();
  rules.Set("trade.size", "near");
  rules.Set("quote", "near");
  Rdb rdb({}, Placement(rules, {near_.get(), far_.get()}), &clock_);
  InitLogging("test", LogLevel::kError);
  const auto log_of = [&] {
    const Schema schema = TradeSchema();
    testing::internal::CaptureStderr();
    rdb.OnSchemas({&schema, 1});
    return testing::internal::GetCapturedStderr();
  };
  const std::string log = log_of();
  EXPECT_THAT(log, HasSubstr("placement key without effect key=\"quote\" error=\"no table"));
  EXPECT_THAT(log, HasSubstr("placement key without effect key=\"trade.size\" error=\"table trade "
                             "has no column"));
  EXPECT_THAT(log, testing::Not(HasSubstr("trade.time")));
  EXPECT_EQ(log_of(), "");
}

TEST_F(RdbEnvironmentTest, LogsKeysThatNameNothingOfATableThatWasInferred) {
  PlacementRules rules = Rules();
  rules.Set("quote", "near");
  rules.Set("trade.size", "near");
  Rdb rdb({.table = {}, .infer_schemas = true}, Placement(rules, {near_.get(), far_.get()}),
          &clock_);
  InitLogging("test", LogLevel::kError);
  ByteBuffer body;
  wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol("trade"),
                            Value::Table({"time"}, {Value::Longs({1})})}),
               body);
  testing::internal::CaptureStderr();
  rdb.OnLive(body);
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("key=\"trade.size\""));
  EXPECT_THAT(log, testing::Not(HasSubstr("key=\"quote\"")));  // Its table may still come.
}

// Goal: the sum depends on the rows and their order, but not on their times. Method: two rdbs whose
// symbols have different numbers take the same rows at different times, then different rows.
TEST_F(RdbEnvironmentTest, TheChecksumIsThatOfTheRowsWithoutTheirTimes) {
  std::unique_ptr<mem::Tier> tier = mem::MakeDramTier("dram");
  Rdb other({.table = {}, .infer_schemas = true}, Placement(tier.get()), &clock_);
  RdbEnvironment others(&other, &clock_);
  const auto take = [](Rdb& rdb, int64_t time, std::string_view symbol, double price) {
    ByteBuffer body;
    wire::Encode(
        Value::List(
            {Value::Symbol("upd"), Value::Symbol("t"),
             Value::Table({"time", "sym", "price"},
                          {Value::Vector(Type::kTimestamp, std::span<const int64_t>(&time, 1)),
                           Value::Symbols({symbol}),
                           Value::Vector(Type::kFloat, std::span<const double>(&price, 1))})}),
        body);
    rdb.OnLive(body);
  };
  const auto sum = [](RdbEnvironment& environment, int64_t first) {
    const Value args[] = {Value::Symbol("t"), Value::Long(first)};
    return (*environment.Call(".rdb.checksum", args))->as<int64_t>();
  };
  take(rdb_, 1, "A", 1.5);
  take(rdb_, 2, "B", 2.5);
  take(other, 7, "B", 9);
  take(other, 8, "A", 1.5);
  take(other, 9, "B", 2.5);
  EXPECT_EQ(sum(environment_, 0), sum(others, 1));
  EXPECT_NE(sum(environment_, 0), sum(others, 0));
  EXPECT_NE(sum(environment_, 1), sum(others, 1));
  take(rdb_, 3, "A", 1);
  take(rdb_, 3, "B", 1);
  take(other, 3, "B", 1);
  take(other, 3, "A", 1);
  EXPECT_NE(sum(environment_, 0), sum(others, 1)) << "their order differs";
  EXPECT_EQ(sum(environment_, 4), 0);
  const Value beyond[] = {Value::Symbol("t"), Value::Long(5)};
  EXPECT_FALSE(environment_.Call(".rdb.checksum", beyond)->ok());
}

}  // namespace
}  // namespace tickstack::rdb
