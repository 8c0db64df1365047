#include "tickerplant/shard_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "tickerplant/tickerplant.h"
#include "wire/codec.h"

namespace tickstack::tickerplant {
namespace {

using testing::HasSubstr;

constexpr int64_t kNoon = 7373 * kNsPerDay + kNsPerDay / 2;  // On 9 March 2020.

class ShardRowsTest : public testing::Test {
 protected:
  ShardRowsTest()
      : directory_(std::filesystem::temp_directory_path() /
                   ("shard_rows_test." + std::to_string(::getpid()) + "." +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(directory_);
  }
  ~ShardRowsTest() override {
    plant_.reset();
    std::filesystem::remove_all(directory_);
  }

  static std::shared_ptr<const ShardMap> MapOf(const NameMap<std::string>& symbols) {
    return std::make_shared<const ShardMap>(*ShardMap::Create({"a", "b"}, symbols));
  }

  void Open(size_t shard) {
    TickerplantOptions options;
    options.schemas = {*ParseSchema("trade", "time p, sym s, price f"),
                       *ParseSchema("event", "time p, code j")};
    options.log_directory = directory_;
    options.shard = {MapOf({{"AAPL", "a"}, {"SPY", "b"}, {"BERKSHIRE.B", "b"}}), shard};
    auto opened = Tickerplant::Open(options, *DayClock::Create("UTC", 0, std::nullopt), &clock_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    plant_ = *std::move(opened);
  }

  static Value Columns(std::initializer_list<std::string_view> symbols) {
    SymbolVector names;
    for (const std::string_view symbol : symbols) names.push_back(symbol);
    const std::vector<int64_t> times(symbols.size(), kNoon);
    const std::vector<double> prices(symbols.size(), 1.5);
    return Value::List({Value::Vector(Type::kTimestamp, std::span<const int64_t>(times)),
                        Value::Symbols(names),
                        Value::Vector(Type::kFloat, std::span<const double>(prices))});
  }
  static Value Row(std::string_view symbol) {
    return Value::List({Value::Timestamp(kNoon), Value::Symbol(symbol), Value::Float(1.5)});
  }
  absl::Status Stage(const Value& x, std::string_view table = "trade") {
    auto body = std::make_shared<ByteBuffer>();
    wire::Encode(Value::List({Value::Symbol(".u.upd"), Value::Symbol(table), x}), *body);
    return plant_->StageUpd(*body, body);
  }
  absl::Status StageNumbered(int64_t row, const Value& x) {
    auto body = std::make_shared<ByteBuffer>();
    wire::Encode(Value::List({Value::Symbol(".u.updn"), Value::Symbol("feed"), Value::Long(row),
                              Value::Symbol("trade"), x}),
                 *body);
    return plant_->StageNumberedUpd(*body, body);
  }

  const std::filesystem::path directory_;
  ManualClock clock_{kNoon};
  std::unique_ptr<Tickerplant> plant_;
};

TEST_F(ShardRowsTest, TakesItsRowsAndRefusesOthersByName) {
  Open(0);
  EXPECT_TRUE(Stage(Columns({"AAPL", "AAPL"})).ok());
  EXPECT_TRUE(Stage(Row("AAPL")).ok());
  EXPECT_TRUE(StageNumbered(0, Columns({"AAPL"})).ok());
  const std::string why = "shard: SPY belongs to shard b";
  EXPECT_EQ(Message(Stage(Columns({"AAPL", "SPY", "AAPL"}))), why);
  EXPECT_EQ(Message(Stage(Row("SPY"))), why);
  EXPECT_EQ(Message(StageNumbered(1, Columns({"SPY"}))), why);
  EXPECT_EQ(Message(Stage(Value::List({Value::Symbol("SPY"), Value::Float(2)}))), why);
  EXPECT_EQ(Message(Stage(Row("BERKSHIRE.B"))), "shard: BERKSHIRE.B belongs to shard b");
  EXPECT_EQ(plant_->counters().upds_refused, 5u);
}

TEST_F(ShardRowsTest, ARefusedMessageLeavesNothingBehind) {
  Open(0);
  EXPECT_FALSE(StageNumbered(0, Columns({"AAPL", "SPY"})).ok());
  EXPECT_FALSE(plant_->has_staged());
  EXPECT_EQ(plant_->FeedRows("feed"), (std::vector<int64_t>{0, 0}));
}

TEST_F(ShardRowsTest, ATableWithoutSymbolsIsInTheFirstShard) {
  const Value event = Value::List({Value::Timestamp(kNoon), Value::Long(7)});
  Open(0);
  EXPECT_TRUE(Stage(event, "event").ok());
  plant_.reset();
  std::filesystem::remove_all(directory_);
  Open(1);
  EXPECT_EQ(Message(Stage(event, "event")),
            "shard: event has no symbol column, so it belongs to shard a");
}

TEST_F(ShardRowsTest, AMapChangesOnlyWhileTheDayHasNoRows) {
  const std::string map = directory_ / "sym.shards", log = directory_ / "sym2020.03.09";
  const auto first = MapOf({}), second = MapOf({{"SPY", "a"}});
  EXPECT_TRUE(SettleShardMap(map, log, *first).ok());
  EXPECT_TRUE(SettleShardMap(map, log, *second).ok());
  std::ofstream(log) << "header and the first row";
  EXPECT_TRUE(SettleShardMap(map, log, *second).ok());
  const absl::Status changed = SettleShardMap(map, log, *first);
  EXPECT_EQ(changed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(Message(changed), HasSubstr("rows of another map of shards"));
  EXPECT_TRUE(SettleShardMap(map, directory_ / "sym2020.03.10", *first).ok());
  std::filesystem::remove(map);
  EXPECT_THAT(Message(SettleShardMap(map, log, *first)), HasSubstr("a stack without shards"));
}

}  // namespace
}  // namespace tickstack::tickerplant
