#include "rdb/rdb.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "rdb/prestress.h"
#include "table/value.h"
#include "wire/codec.h"

namespace tickstack::rdb {
namespace {

constexpr int64_t kNow = 1000 * kNsPerDay;

Value Times(std::initializer_list<int64_t> ns) {
  return Value::Vector(Type::kTimestamp, std::span<const int64_t>(ns.begin(), ns.size()));
}
Value Floats(std::initializer_list<double> values) {
  return Value::Vector(Type::kFloat, std::span<const double>(values.begin(), values.size()));
}

ByteBuffer Body(const Value& value) {
  ByteBuffer body;
  wire::Encode(value, body);
  return body;
}

// Returns (`upd; `table; x) with or without a sequence number.
ByteBuffer Upd(std::string_view table, Value x, std::optional<int64_t> seq = std::nullopt) {
  std::vector<Value> items = {Value::Symbol("upd"), Value::Symbol(table), std::move(x)};
  if (seq) items.push_back(Value::Long(*seq));
  return Body(Value::List(std::move(items)));
}

// Returns trades at these times as a list of columns.
Value Columns(std::initializer_list<int64_t> times) {
  SymbolVector names;
  ByteBuffer prices;
  for (const int64_t time : times) {
    names.push_back(time % 2 == 0 ? "IBM" : "AIG");
    prices.AppendLittle(static_cast<double>(time % 1000));
  }
  return Value::List(
      {Times(times), Value::Symbols(names), Value::Vector(Type::kFloat, std::move(prices))});
}

Schema TradeSchema() { return *ParseSchema("trade", "time p, sym s, price f"); }

class RdbTest : public testing::Test {
 protected:
  explicit RdbTest(RdbOptions options = {}, size_t capacity_bytes = SIZE_MAX)
      : tier_(mem::MakeDramTier("dram", capacity_bytes)),
        rdb_(options, Placement(tier_.get()), &clock_) {}

  void Announce() {
    const Schema schema = TradeSchema();
    rdb_.OnSchemas({&schema, 1});
  }
  size_t Rows(std::string_view table) { return rdb_.FindTable(table)->rows(); }
  std::vector<int64_t> TimesOf(std::string_view table) {
    std::vector<int64_t> times;
    const Snapshot snapshot = *rdb_.FindTable(table);
    for (size_t c = 0; c < snapshot.chunks(); ++c) {
      const std::span<const int64_t> part = snapshot.Chunk<int64_t>(0, c);
      times.insert(times.end(), part.begin(), part.end());
    }
    return times;
  }

  ManualClock clock_{kNow};
  std::unique_ptr<mem::Tier> tier_;
  Rdb rdb_;
};

TEST_F(RdbTest, TakesUpdsInEveryForm) {
  Announce();
  rdb_.OnLive(Upd("trade", Columns({1, 2})));
  rdb_.OnLive(
      Upd("trade", Value::List({Value::Timestamp(3), Value::Symbol("IBM"), Value::Float(1.5)})));
  rdb_.OnLive(Upd("trade", Value::Table({"time", "sym", "price"},
                                        {Times({4}), Value::Symbols({"A"}), Floats({2})})));
  EXPECT_THAT(TimesOf("trade"), testing::ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(rdb_.counters().rows, 4u);
  EXPECT_EQ(rdb_.counters().messages, 3u);
}

TEST_F(RdbTest, GoesByTheNamesOfAnUpdThatIsATable) {
  Announce();
  rdb_.OnLive(Upd(
      "trade", Value::Table({"price", "extra", "time", "sym"},
                            {Floats({2}), Value::Longs({9}), Times({7}), Value::Symbols({"A"})})));
  EXPECT_THAT(TimesOf("trade"), testing::ElementsAre(7));
  rdb_.OnLive(Upd("trade", Value::Table({"price", "time"}, {Floats({2}), Times({7})})));
  EXPECT_EQ(Rows("trade"), 1u);
  EXPECT_EQ(rdb_.counters().upds_refused, 1u);
}

TEST_F(RdbTest, RefusesWhatDoesNotFitAndGoesOn) {
  Announce();
  rdb_.OnLive(Upd("trade", Value::List({Times({1}), Value::Symbols({"A"})})));
  rdb_.OnLive(Upd("trade", Value::List({Times({1}), Value::Symbols({"A"}), Value::Longs({1})})));
  rdb_.OnLive(Upd("trade", Value::Long(1)));
  const ByteBuffer whole = Upd("trade", Columns({1, 2}));
  rdb_.OnLive(whole.span().first(whole.size() - 3));
  EXPECT_EQ(rdb_.counters().upds_refused, 4u);
  EXPECT_EQ(Rows("trade"), 0u);
  rdb_.OnLive(whole);
  EXPECT_EQ(Rows("trade"), 2u);
}

TEST_F(RdbTest, CountsUpdsOfUnknownTablesAndOtherMessages) {
  Announce();
  rdb_.OnLive(Upd("nothing", Columns({1})));
  rdb_.OnLive(Body(Value::List({Value::Symbol("hello"), Value::Long(1)})));
  rdb_.OnLive(Body(Value::Long(1)));
  EXPECT_EQ(rdb_.counters().upds_unknown, 1u);
  EXPECT_EQ(rdb_.counters().messages_other, 2u);
  EXPECT_THAT(rdb_.TableNames(), testing::ElementsAre("trade"));
}

TEST_F(RdbTest, TakesEachRowOnceWhenItReplaysWhatWasPublished) {
  Announce();
  rdb_.OnLive(Upd("trade", Columns({1, 2}), 2));
  rdb_.OnLive(Upd("trade", Columns({3, 4, 5}), 4));  // The tickerplant dies: row 6 was logged too.
  EXPECT_EQ(rdb_.position().seq(), 2u);
  rdb_.OnLogged(Upd("trade", Columns({3})));
  rdb_.OnLogged(Upd("trade", Columns({4, 5, 6})));
  EXPECT_TRUE(rdb_.position().OnCaughtUp(4));
  rdb_.OnLive(Upd("trade", Columns({7}), 5));
  EXPECT_THAT(TimesOf("trade"), testing::ElementsAre(1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(rdb_.counters().rows_replayed, 1u);
  EXPECT_EQ(rdb_.counters().rows_known, 3u);
}

TEST_F(RdbTest, SaysWhenPublishedUpdsAreOutOfOrder) {
  Announce();
  EXPECT_EQ(rdb_.OnLive(Upd("trade", Columns({1}), 5)), LiveOutcome::kTaken);
  EXPECT_EQ(rdb_.OnLive(Upd("trade", Columns({2}), 4)), LiveOutcome::kOutOfOrder);
  EXPECT_EQ(rdb_.OnLive(Upd("trade", Columns({2}), -1)), LiveOutcome::kOutOfOrder);
  EXPECT_EQ(Rows("trade"), 1u);
}

// Returns a batch of bars by column.
Value Bars(std::initializer_list<std::string_view> names, std::initializer_list<double> highs) {
  SymbolVector sym;
  for (const std::string_view name : names) sym.push_back(name);
  return Value::List({Value::Symbols(std::move(sym)), Floats(highs)});
}

TEST_F(RdbTest, UpsertsIntoATableWithAKey) {
  const Schema schema = *ParseSchema("bars", "sym s | high f");
  rdb_.OnSchemas({&schema, 1});
  const auto highs = [this] {
    const Snapshot snapshot = *rdb_.FindTable("bars");
    const std::span<const double> chunk = snapshot.Chunk<double>(1, 0);
    return std::vector<double>(chunk.begin(), chunk.end());
  };
  rdb_.OnLive(Upd("bars", Bars({"A", "B"}, {1, 2}), 1));
  rdb_.OnLive(Upd("bars", Value::List({Value::Symbol("A"), Value::Float(3)}), 2));
  rdb_.OnLive(Upd("bars", Value::Table({"high", "sym"}, {Floats({4}), Value::Symbols({"C"})}), 3));
  rdb_.OnLive(Upd("bars",
                  Value::KeyedTable(Value::Table({"sym"}, {Value::Symbols({"B"})}),
                                    Value::Table({"high"}, {Floats({5})})),
                  4));
  EXPECT_THAT(highs(), testing::ElementsAre(3, 5, 4));
  EXPECT_EQ(rdb_.counters().rows, 5u);
  // The publication was cut: its first two rows came, and the log has all of it.
  rdb_.OnLive(Upd("bars", Bars({"A", "B"}, {6, 7}), 5));
  rdb_.OnLogged(Upd("bars", Bars({"A", "B", "C"}, {6, 7, 8})));
  EXPECT_THAT(highs(), testing::ElementsAre(6, 7, 8));
  const Snapshot old = *rdb_.FindTable("bars");
  rdb_.OnLive(Body(Value::List({Value::Symbol(".u.end"), Value::Date(1)})));
  EXPECT_EQ(Rows("bars"), 0u);
  EXPECT_EQ(old.Chunk<double>(1, 0).size(), 3u) << "a snapshot outlives its table's day";
}

TEST_F(RdbTest, RefusesATableThatItCannotUpsertIntoByName) {
  const Schema before = *ParseSchema("notes", "sym s, note *");
  rdb_.OnSchemas({&before, 1});
  const Schema schemas[] = {*ParseSchema("notes", "sym s | note *"), TradeSchema()};
  rdb_.OnSchemas(schemas);
  EXPECT_THAT(rdb_.TableNames(), testing::ElementsAre("trade"));
}

TEST_F(RdbTest, EmptiesItsTablesAtTheEndOfTheDayAndKeepsOldSnapshots) {
  Announce();
  rdb_.OnLive(Upd("trade", Columns({1, 2}), 9));
  const Snapshot old = *rdb_.FindTable("trade");
  EXPECT_EQ(rdb_.OnLive(Body(Value::List({Value::String(".u.end"), Value::Date(5000)}))),
            LiveOutcome::kDayEnded);
  EXPECT_EQ(Rows("trade"), 0u);
  EXPECT_EQ(rdb_.position().seq(), 0u);
  EXPECT_EQ(rdb_.OnLive(Upd("trade", Columns({3}), 1)), LiveOutcome::kTaken);
  EXPECT_THAT(TimesOf("trade"), testing::ElementsAre(3));
  EXPECT_EQ(old.rows(), 2u);
  EXPECT_EQ(old.Chunk<int64_t>(0, 0)[1], 2);
  EXPECT_EQ(rdb_.counters().days_ended, 1u);
}

// A query may come at any moment of a day's end.
TEST_F(RdbTest, HasEachRowOnceWhileADayEnds) {
  class Keeper final : public DayKeeper {
   public:
    explicit Keeper(const Rdb& rdb) : rdb_(rdb) {}
    void OnDayEnded(EndedDay /*day*/) override {
      rows = rdb_.FindTable("trade")->rows();
      tables = rdb_.AllTables().size();
    }
    void OnReplayDone(const std::string& /*log_path*/, std::vector<Schema> /*schemas*/) override {}

    size_t rows = 0, tables = 0;

   private:
    const Rdb& rdb_;
  };
  Keeper keeper(rdb_);
  rdb_.KeepDays(&keeper);
  Announce();
  rdb_.OnLive(Upd("trade", Columns({1, 2, 3})));
  rdb_.OnLive(Body(Value::List({Value::Symbol(".u.end"), Value::Date(999)})));
  EXPECT_EQ(keeper.rows, 3u);
  EXPECT_EQ(keeper.tables, 1u);
  rdb_.OnLive(Upd("trade", Columns({4})));
  EXPECT_EQ(Rows("trade"), 4u);
  EXPECT_EQ(rdb_.AllTables().size(), 2u);
}

// A tier that calls `on_table` whenever a table is made in it.
class WatchedTier final : public mem::Tier {
 public:
  absl::StatusOr<std::byte*> Allocate(size_t bytes) override { return tier_->Allocate(bytes); }
  std::byte* TryAllocate(size_t bytes) override { return tier_->TryAllocate(bytes); }
  void Free(std::byte* memory, size_t bytes) override { tier_->Free(memory, bytes); }
  bool Has(const std::byte* memory) const override { return tier_->Has(memory); }
  mem::TierStats Stats() const override { return tier_->Stats(); }
  size_t ResidentBytes() const override { return tier_->ResidentBytes(); }
  mem::PersistentTier* persistent() override {
    if (on_table) on_table();
    return nullptr;
  }

  std::function<void()> on_table;

 private:
  const std::unique_ptr<mem::Tier> tier_ = mem::MakeDramTier("dram");
};

// Goal: a query about a day finds all of its rows or nothing, at any moment of the day's end: no
// table is empty because the day has gone to the database and the new tables are not complete.
// Method: the keeper hands the day over at once, as one does whose thread is faster than this one,
// and queries come whenever a table is replaced.
TEST(RdbDays, ADayThatIsHandedOverIsNotEmptyBeforeItIsGone) {
  class Keeper final : public DayKeeper {
   public:
    explicit Keeper(Rdb& rdb) : rdb_(rdb) {}
    void OnDayEnded(EndedDay day) override { rdb_.DropDay(day); }
    void OnReplayDone(const std::string& /*log_path*/, std::vector<Schema> /*schemas*/) override {}

   private:
    Rdb& rdb_;
  };
  const ManualClock clock(kNow);
  WatchedTier tier;
  Rdb rdb({}, Placement(&tier), &clock);
  Keeper keeper(rdb);
  rdb.KeepDays(&keeper);
  const Schema schemas[] = {TradeSchema(), *ParseSchema("other", "time p, sym s, price f")};
  rdb.OnSchemas(schemas);
  rdb.SetLog({"log/sym2002.09.26", std::nullopt});
  constexpr int32_t kDay = 999;
  ASSERT_THAT(rdb.Days(), testing::ElementsAre(kDay));
  for (const char* table : {"trade", "other"}) rdb.OnLive(Upd(table, Columns({1, 2, 3})));
  int looks = 0, others = 0;
  tier.on_table = [&] {
    ++looks;
    for (const char* table : {"trade", "other"}) {
      const std::optional<Snapshot> of_day = rdb.FindTableOfDay(table, kDay);
      if (of_day && of_day->rows() != 3) ++others;
    }
  };
  rdb.OnLive(Body(Value::List({Value::Symbol(".u.end"), Value::Date(kDay)})));
  EXPECT_GT(looks, 0);
  EXPECT_EQ(others, 0);
  EXPECT_THAT(rdb.Days(), testing::ElementsAre(kDay + 1));
  EXPECT_FALSE(rdb.FindTableOfDay("trade", kDay).has_value());
  EXPECT_EQ(rdb.FindTableOfDay("trade", kDay + 1)->rows(), 0u);
}

TEST_F(RdbTest, KeepsATableWhoseSchemaIsAnnouncedAgainAndEmptiesAChangedOne) {
  Announce();
  rdb_.OnLive(Upd("trade", Columns({1})));
  Announce();
  EXPECT_EQ(Rows("trade"), 1u);
  const Schema other = *ParseSchema("trade", "time p, sym s, size j");
  rdb_.OnSchemas({&other, 1});
  EXPECT_EQ(Rows("trade"), 0u);
  EXPECT_EQ(rdb_.FindTable("trade")->schema(), other);
}

TEST_F(RdbTest, MeasuresFromARowsTimeToWhenItWasVisible) {
  Announce();
  rdb_.OnLive(Upd("trade", Columns({kNow - 1000, kNow - 3000, kNow + 7})));
  rdb_.OnLogged(Upd("trade", Columns({kNow - 500'000})));
  rdb_.OnLive(Upd("trade", Columns({kNow - 2 * kNsPerDay, kNullLong, kInfinityLong})));
  const Histogram latency = rdb_.Latency(true);
  EXPECT_EQ(latency.Count(), 3u) << "neither a replay nor another day's rows count";
  EXPECT_EQ(latency.Max(), 3000);
  EXPECT_EQ(latency.Min(), 0);
  EXPECT_EQ(rdb_.Latency(false).Count(), 0u);
  const DurationBuckets::Counts kept = rdb_.LatencyBuckets();
  EXPECT_EQ(kept.of_bucket[0] + kept.of_bucket[1] + kept.of_bucket[2], 3u)
      << "a reset does not count";
  EXPECT_EQ(kept.sum_ns, 3000u + 1000u);
}

class SmallRdbTest : public RdbTest {
 protected:
  SmallRdbTest() : RdbTest({.table = {.rows_per_chunk = 64}}, 2048) {}
};

TEST_F(SmallRdbTest, CountsRowsThatAFullTierRefusesAndGoesOn) {
  Announce();
  for (int64_t i = 0; i < 200; ++i) rdb_.OnLive(Upd("trade", Columns({i}), i + 1));
  EXPECT_GT(Rows("trade"), 0u);
  EXPECT_EQ(rdb_.counters().rows + rdb_.counters().rows_refused, 200u);
  EXPECT_EQ(Rows("trade"), rdb_.counters().rows);
  EXPECT_EQ(rdb_.counters().upds_refused, 0u);
}

class InferringRdbTest : public RdbTest {
 protected:
  InferringRdbTest() : RdbTest({.table = {}, .infer_schemas = true}) {}
};

TEST_F(InferringRdbTest, MakesTablesFromTheFirstUpdThatNamesThem) {
  rdb_.OnLogged(Upd("trade", Columns({1, 2})));
  rdb_.OnLogged(Upd("named", Value::Table({"a", "b"}, {Value::Longs({1}), Floats({2})})));
  rdb_.OnLogged(Upd("named", Value::List({Value::Long(2), Value::Float(3)})));
  EXPECT_EQ(FormatSchema(rdb_.FindTable("trade")->schema()), "x p, x1 s, x2 f");
  EXPECT_EQ(FormatSchema(rdb_.FindTable("named")->schema()), "a j, b f");
  EXPECT_EQ(Rows("named"), 2u);
  EXPECT_EQ(rdb_.counters().rows_replayed, 4u);
  EXPECT_EQ(rdb_.position().seq(), 3u);
}

class ReplayingRdbTest : public RdbTest {
 protected:
  ReplayingRdbTest()
      : RdbTest({.table = {},
                 .infer_schemas = true,
                 .known_schemas = {TradeSchema(), *ParseSchema("quote", "time p, bid f")}}) {}
};

TEST_F(ReplayingRdbTest, GivesTablesTheirKnownSchemasWhereRowsFitAndInfersTheOthers) {
  rdb_.OnLogged(Upd("trade", Columns({1, 2})));
  rdb_.OnLogged(Upd("quote", Value::List({Value::Longs({1}), Value::Longs({2})})));
  rdb_.OnLogged(Upd("other", Value::List({Value::Longs({1})})));
  EXPECT_EQ(rdb_.FindTable("trade")->schema(), TradeSchema());
  EXPECT_EQ(FormatSchema(rdb_.FindTable("quote")->schema()), "x j, x1 j");
  EXPECT_EQ(FormatSchema(rdb_.FindTable("other")->schema()), "x j");
  EXPECT_EQ(rdb_.counters().rows_replayed, 4u);
  EXPECT_TRUE(rdb_.refused_upds().empty());
}

TEST_F(ReplayingRdbTest, CountsWhatItRefusesByTable) {
  rdb_.OnLogged(Upd("trade", Columns({1, 2})));
  rdb_.OnLogged(Upd("trade", Value::List({Value::Longs({1, 2, 3})})));
  ASSERT_EQ(rdb_.refused_upds().size(), 1u);
  const Rdb::RefusedUpds& refused = rdb_.refused_upds().find("trade")->second;
  EXPECT_EQ(refused.messages, 1u);
  EXPECT_EQ(refused.rows, 3u);
  EXPECT_NE(refused.why, "");
}

// A source of batches of trades with two rows each, as many as the test says.
class TwoRows : public RowSource {
 public:
  explicit TwoRows(int64_t batches) : left_(batches), rows_(2 * batches) {}
  absl::StatusOr<std::optional<Rows>> Next() override {
    if (left_-- == 0) return std::nullopt;
    return Rows{"trade", 2, x_};
  }
  int64_t rows() const override { return rows_; }

 private:
  int64_t left_, rows_;
  const ByteBuffer x_ = Body(Columns({1, 2}));
};

TEST_F(RdbTest, BeginsWithTheRowsOfItsPrestress) {
  const Schema schema = TradeSchema();
  TwoRows source(3);
  ASSERT_TRUE(Prestress(source, {&schema, 1}, [] { return false; }, rdb_).ok());
  EXPECT_EQ(Rows("trade"), 6u);
  rdb_.StartOver();  // As it does when it enters its first log.
  EXPECT_EQ(Rows("trade"), 6u);
  EXPECT_EQ(rdb_.counters().rows_prestressed, 6u);
  EXPECT_EQ(rdb_.Latency(false).Count(), 0u);
  rdb_.OnLive(Upd("trade", Columns({kNow})));
  EXPECT_EQ(Rows("trade"), 7u);
  EXPECT_EQ(rdb_.counters().rows, 1u);
  rdb_.StartOver();
  EXPECT_EQ(Rows("trade"), 0u) << "rows that belong to no log cannot stay among others";
}

TEST_F(RdbTest, AddsNoPrestressToTablesThatAreThere) {
  Announce();
  const Schema schema = TradeSchema();
  TwoRows source(3);
  ASSERT_TRUE(Prestress(source, {&schema, 1}, [] { return false; }, rdb_).ok());
  EXPECT_EQ(Rows("trade"), 0u);
}

TEST_F(RdbTest, SaysWhatOfItsPrestressDoesNotFit) {
  const Schema schema = *ParseSchema("trade", "time p, sym s");
  TwoRows source(1);
  const absl::Status status = Prestress(source, {&schema, 1}, [] { return false; }, rdb_);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(Message(status), testing::HasSubstr("prestress of trade behind 0 rows"));
}

}  // namespace
}  // namespace tickstack::rdb
