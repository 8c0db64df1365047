#include "rdb/row_mover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "table/value.h"
#include "wire/codec.h"

namespace tickstack::rdb {
namespace {

constexpr int64_t kNow = 1000 * kNsPerDay;
constexpr int64_t kMinute = 60 * kNsPerSecond;
constexpr size_t kPage = mem::Tier::kHugePageBytes;
constexpr size_t kChunkRows = 1024;
constexpr size_t kRowBytes = 16;  // A chunk's bytes per row: time and price; the index is apart.

PlacementRules Rules() {
  PlacementRules rules;
  rules.Set("default", "recent");
  rules.Set("query", "recent");
  rules.SetAge({"older", 30 * kMinute});
  return rules;
}

class RowMoverTest : public testing::Test {
 protected:
  explicit RowMoverTest(size_t recent_bytes = 64 * kPage, size_t older_bytes = SIZE_MAX)
      : recent_(mem::MakeDramTier("recent", recent_bytes)),
        older_(mem::MakeDramTier("older", older_bytes)),
        rdb_(Options(), Placement(Rules(), {recent_.get(), older_.get()}), &clock_),
        mover_(&rdb_, &clock_) {
    const Schema schema = *ParseSchema("tick", "time p, price f");
    rdb_.OnSchemas({&schema, 1});
  }
  static RdbOptions Options() {
    RdbOptions options;
    options.table.rows_per_chunk = kChunkRows;
    return options;
  }

  // Publishes rows with this time.
  void Publish(size_t rows, int64_t time_ns, std::string_view table = "tick") {
    const std::vector<int64_t> times(rows, time_ns);
    const std::vector<double> prices(rows, 1.5);
    ByteBuffer body;
    wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol(table),
                              Value::List({Value::Vector(Type::kTimestamp, std::span(times)),
                                           Value::Vector(Type::kFloat, std::span(prices))})}),
                 body);
    rdb_.OnLive(body);
  }
  void EndDay() {
    ByteBuffer body;
    wire::Encode(Value::List({Value::Symbol(".u.end"), Value::Date(1000)}), body);
    rdb_.OnLive(body);
  }
  size_t RowsMoved() const { return rdb_.counters().rows_moved.load(); }
  Snapshot Ticks() const { return *rdb_.FindTable("tick"); }

  ManualClock clock_{kNow};
  std::unique_ptr<mem::Tier> recent_, older_;
  Rdb rdb_;
  RowMover mover_;
};

TEST_F(RowMoverTest, MovesChunksWhoseNewestRowIsOldEnough) {
  Publish(kChunkRows, kNow - 31 * kMinute);
  Publish(kChunkRows, kNow - 29 * kMinute);
  Publish(10, kNow);
  EXPECT_EQ(mover_.MoveDue(), kChunkRows * kRowBytes);
  EXPECT_EQ(RowsMoved(), kChunkRows);
  clock_.Advance(kMinute);
  EXPECT_EQ(mover_.MoveDue(), kChunkRows * kRowBytes);
  clock_.Advance(60 * kMinute);
  EXPECT_EQ(mover_.MoveDue(), 0);  // The last chunk is not full.
  EXPECT_EQ(RowsMoved(), 2 * kChunkRows);
  EXPECT_EQ(older_->Stats().used_bytes, 2 * kChunkRows * kRowBytes);
  EXPECT_EQ(Ticks().rows(), 2 * kChunkRows + 10);
}

// A clock of a feed that is wrong must not keep rows in memory for ever.
TEST_F(RowMoverTest, MovesRowsFromTheFutureByTheirArrival) {
  Publish(kChunkRows, kNow + 100 * kMinute);
  EXPECT_EQ(mover_.MoveDue(), 0);
  clock_.Advance(29 * kMinute);
  EXPECT_EQ(mover_.MoveDue(), 0);
  clock_.Advance(kMinute);
  EXPECT_EQ(mover_.MoveDue(), kChunkRows * kRowBytes);
}

TEST_F(RowMoverTest, MovesRowsOfADayThatIsNotWrittenYet) {
  class Keeper final : public DayKeeper {
   public:
    void OnDayEnded(EndedDay /*day*/) override {}
    void OnReplayDone(const std::string& /*log*/, std::vector<Schema> /*schemas*/) override {}
  } keeper;
  rdb_.KeepDays(&keeper);
  Publish(kChunkRows, kNow);
  EndDay();
  Publish(5, kNow);
  clock_.Advance(31 * kMinute);
  mover_.MoveDue();  // Sees the chunk full.
  clock_.Advance(31 * kMinute);
  mover_.MoveDue();
  EXPECT_EQ(RowsMoved(), kChunkRows);
  EXPECT_EQ(Ticks().rows(), kChunkRows + 5);
}

// Goal: a tier that only an index fills does not empty the tiers of rows.
TEST(RowMover, MovesOnlyWhatIsInACrowdedTier) {
  const auto big = mem::MakeDramTier("big", 64 * kPage),
             small = mem::MakeDramTier("small", 2 * kPage), older = mem::MakeDramTier("older");
  PlacementRules rules;
  rules.Set("default", "big");
  rules.Set("index", "small");
  rules.Set("query", "big");
  rules.SetAge({"older", 30 * kMinute});
  ManualClock clock(kNow);
  RdbOptions options;
  options.table.rows_per_chunk = kChunkRows;
  Rdb rdb(options, Placement(rules, {big.get(), small.get(), older.get()}), &clock);
  RowMover mover(&rdb, &clock);
  const Schema schema = *ParseSchema("tick", "time p, sym s");
  rdb.OnSchemas({&schema, 1});
  while (small->Stats().used_bytes < 3 * kPage / 2) {
    SymbolVector names;
    for (size_t i = 0; i < kChunkRows; ++i) names.push_back("S" + std::to_string(i % 100));
    const std::vector<int64_t> times(kChunkRows, kNow);
    ByteBuffer body;
    wire::Encode(Value::List({Value::Symbol("upd"), Value::Symbol("tick"),
                              Value::List({Value::Vector(Type::kTimestamp, std::span(times)),
                                           Value::Symbols(std::move(names))})}),
                 body);
    rdb.OnLive(body);
  }
  EXPECT_EQ(mover.MoveDue(), 0);
  EXPECT_LT(big->Stats().used_bytes, 32 * kPage);
}

class CrowdedRowMoverTest : public RowMoverTest {
 protected:
  CrowdedRowMoverTest() : RowMoverTest(8 * kPage, 16 * kPage) {}
  double Share(const mem::Tier& tier) const {
    return static_cast<double>(tier.Stats().used_bytes) /
           static_cast<double>(tier.Stats().capacity_bytes);
  }
};

TEST_F(CrowdedRowMoverTest, MovesTheFirstChunksWhateverTheirAgeIfTheTierIsCrowded) {
  while (Share(*recent_) < 0.76) Publish(kChunkRows, kNow);
  const size_t rows = Ticks().rows();
  EXPECT_GT(mover_.MoveDue(), 0);
  EXPECT_LT(Share(*recent_), 0.75);
  EXPECT_GT(Share(*recent_), 0.70);
  EXPECT_EQ(mover_.MoveDue(), 0);
  EXPECT_EQ(Ticks().rows(), rows);
}

// What running queries keep is not freed by moving more.
TEST_F(CrowdedRowMoverTest, DoesNotMoveEverythingWhileAQueryKeepsItsRows) {
  while (Share(*recent_) < 0.76) Publish(kChunkRows, kNow);
  std::optional<Snapshot> query = Ticks();
  const size_t freed = mover_.MoveDue();
  EXPECT_GT(freed, 0);
  EXPECT_LT(freed, 8 * kPage / 10);
  EXPECT_GT(Share(*recent_), 0.75);
  EXPECT_EQ(mover_.MoveDue(), 0);
  query.reset();
  EXPECT_LT(Share(*recent_), 0.75);
}

TEST_F(CrowdedRowMoverTest, TriesAgainLaterIfTheOlderTierIsFull) {
  std::vector<std::byte*> taken;
  while (std::byte* const memory = older_->TryAllocate(kPage)) taken.push_back(memory);
  Publish(2 * kChunkRows, kNow - 60 * kMinute);
  while (older_->TryAllocate(4096) != nullptr) {
  }
  EXPECT_EQ(mover_.MoveDue(), 0);
  EXPECT_EQ(rdb_.counters().moves_refused.load(), 1);
  EXPECT_EQ(mover_.MoveDue(), 0);
  EXPECT_EQ(rdb_.counters().moves_refused.load(), 1);  // Waits for some seconds.
  for (std::byte* const memory : taken) older_->Free(memory, kPage);
  clock_.Advance(6 * kNsPerSecond);
  EXPECT_EQ(mover_.MoveDue(), 2 * kChunkRows * kRowBytes);
  EXPECT_EQ(Ticks().rows(), 2 * kChunkRows);
}

TEST_F(RowMoverTest, MovesOnAThreadOfItsOwn) {
  mover_.Start();
  size_t published = 0;
  for (const int64_t begin_ns = MonotonicNs();
       RowsMoved() == 0 && MonotonicNs() - begin_ns < kMinute;) {
    if (published < 20) Publish(kChunkRows, kNow - 60 * kMinute);
    published = std::min<size_t>(published + 1, 20);
  }
  EXPECT_GT(RowsMoved(), 0);
  EXPECT_EQ(Ticks().rows(), published * kChunkRows);
}

// Rows of one table must not wait for those of another one.
TEST_F(RowMoverTest, MovesOldRowsAlthoughAnotherTableHasEarlierYoungOnes) {
  const std::vector<Schema> schemas = {*ParseSchema("tick", "time p, price f"),
                                       *ParseSchema("slow", "time p, price f")};
  rdb_.OnSchemas(schemas);
  Publish(kChunkRows, kNow, "slow");
  mover_.MoveDue();
  clock_.Advance(kMinute);
  Publish(3 * kChunkRows, kNow - 60 * kMinute);
  EXPECT_EQ(mover_.MoveDue(), 3 * kChunkRows * kRowBytes);
}

}  // namespace
}  // namespace tickstack::rdb
