#include "tickerplant/shard_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/byte_buffer.h"
#include "base/status.h"
#include "tickerplant/left_logs.h"
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

  void Open(size_t shard, bool chained = false) {
    TickerplantOptions options;
    options.schemas = {*ParseSchema("trade", "time p, sym s, price f"),
                       *ParseSchema("event", "time p, code j")};
    options.log_directory = directory_;
    options.shard = {MapOf({{"AAPL", "a"}, {"SPY", "b"}, {"BERKSHIRE.B", "b"}}), shard, {}};
    options.follows_upstream = chained;
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
  const std::vector<double> prices_{1.5};
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

TEST_F(ShardRowsTest, TakesTheFormsInWhichRowsCome) {
  Open(0);
  const std::vector<int64_t> noons{kNoon, kNoon};
  const Value times = Value::Vector(Type::kTimestamp, std::span<const int64_t>(noons));
  const auto prices = [] { return Value::List({Value::Float(1), Value::Float(2)}); };
  const auto symbols = [](std::string_view second) {
    return Value::List({Value::Symbol("AAPL"), Value::Symbol(second)});
  };
  EXPECT_TRUE(Stage(Value::List({times, symbols("AAPL"), prices()})).ok());
  EXPECT_EQ(Message(Stage(Value::List({times, symbols("SPY"), prices()}))),
            "shard: SPY belongs to shard b");
  const auto table = [&](std::string_view symbol) {
    return Value::Table(
        {"price", "sym", "time"},
        {Value::Vector(Type::kFloat, std::span<const double>(prices_)), Value::Symbols({symbol}),
         Value::Vector(Type::kTimestamp, std::span<const int64_t>(noons).first(1))});
  };
  EXPECT_TRUE(Stage(table("AAPL")).ok());
  EXPECT_EQ(Message(Stage(table("SPY"))), "shard: SPY belongs to shard b");
  // The null symbol belongs to one shard, like any other.
  const size_t shard_of_null = MapOf({})->ShardOf("");
  EXPECT_EQ(Stage(Row("")).ok(), shard_of_null == 0);
}

// Goal: rows of an upstream, which may be of an earlier map, are taken; a client's are checked.
TEST_F(ShardRowsTest, AChainedTickerplantChecksTheRowsOfClientsOnly) {
  Open(0, /*chained=*/true);
  auto body = std::make_shared<ByteBuffer>();
  wire::Encode(Columns({"SPY"}), *body);
  EXPECT_TRUE(plant_->StageLogged(0, *body, body, "upstream", 0).ok());
  EXPECT_EQ(Message(Stage(Row("SPY"))), "shard: SPY belongs to shard b");
}

// ---- whose rows a log has

class ShardFileTest : public ShardRowsTest {
 protected:
  // Opens a tickerplant in a folder of the stack's data; "" is that of a stack without shards.
  absl::Status OpenIn(const std::string& folder, const ShardMap* map, bool logs_a_row,
                      const NameMap<tplog::TableRows>& left_rows = {}) {
    TickerplantOptions options;
    options.schemas = {*ParseSchema("trade", "time p, sym s, price f")};
    options.log_directory = directory_ / folder / "tplog";
    if (map != nullptr) {
      const auto& names = map->shards();
      const auto index = std::ranges::find(names, folder) - names.begin();
      options.shard = {std::make_shared<const ShardMap>(*map), static_cast<size_t>(index),
                       left_rows};
    }
    auto opened = Tickerplant::Open(options, *DayClock::Create("UTC", 0, std::nullopt), &clock_);
    if (!opened.ok()) return opened.status();
    plant_ = *std::move(opened);
    if (!logs_a_row) return absl::OkStatus();
    TS_RETURN_IF_ERROR(StageNumbered(0, Columns({"AAPL"})));
    return plant_->Commit();
  }
  std::string FileOf(const std::string& folder) const {
    std::ifstream file(directory_ / folder / "tplog/sym.shards");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::shared_ptr<const ShardMap> first_ = MapOf({{"AAPL", "a"}});
  const std::shared_ptr<const ShardMap> second_ = MapOf({{"AAPL", "a"}, {"SPY", "a"}});
};

TEST_F(ShardFileTest, AMapChangesOnlyWhileTheDayHasNoRows) {
  ASSERT_TRUE(OpenIn("a", first_.get(), false).ok());
  plant_.reset();
  ASSERT_TRUE(OpenIn("a", second_.get(), true).ok());
  EXPECT_EQ(FileOf("a"), DigestText(second_.get()) + " a\n");
  plant_.reset();
  ASSERT_TRUE(OpenIn("a", second_.get(), false).ok());
  plant_.reset();
  const absl::Status changed = OpenIn("a", first_.get(), false);
  EXPECT_EQ(changed.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(
      std::string(Message(changed)),
      HasSubstr("sym2020.03.09: has rows of shard a of the map " + DigestText(second_.get()) +
                ", expected shard a of the map " + DigestText(first_.get())));
  EXPECT_THAT(std::string(Message(OpenIn("a", nullptr, false))), HasSubstr("expected no shards"));
  ASSERT_TRUE(OpenIn("a", second_.get(), false).ok());
  ASSERT_TRUE(plant_->EndDay().ok());
  plant_.reset();
  EXPECT_TRUE(OpenIn("a", first_.get(), false).ok());
}

TEST_F(ShardFileTest, ALogOfAStackWithoutShardsDoesNotGetThem) {
  ASSERT_TRUE(OpenIn("a", nullptr, true).ok());
  plant_.reset();
  EXPECT_THAT(std::string(Message(OpenIn("a", first_.get(), false))),
              HasSubstr("has rows of no shards"));
}

// A log that was moved to another shard's folder has rows of that shard's name.
TEST_F(ShardFileTest, ALogBelongsToOneShard) {
  ASSERT_TRUE(OpenIn("a", first_.get(), true).ok());
  plant_.reset();
  std::filesystem::rename(directory_ / "a", directory_ / "b");
  EXPECT_THAT(std::string(Message(OpenIn("b", first_.get(), false))),
              HasSubstr("has rows of shard a of the map"));
}

// Goal: a start that fails leaves the map of the running tickerplant. Method: the first one has the
// log's lock, and no row yet.
TEST_F(ShardFileTest, IsWrittenWithTheLogsLockOnly) {
  ASSERT_TRUE(OpenIn("a", first_.get(), false).ok());
  const std::unique_ptr<Tickerplant> running = std::move(plant_);
  const std::string before = FileOf("a");
  EXPECT_FALSE(OpenIn("a", second_.get(), false).ok());
  EXPECT_EQ(FileOf("a"), before);
  const std::string file = directory_ / "a/tplog/sym.shards", log = running->log().path();
  EXPECT_TRUE(CheckShard(file, log, {"a", DigestText(second_.get())}, false).ok());
  EXPECT_THAT(std::string(Message(CheckShard(file, log, {"a", DigestText(second_.get())}, true))),
              HasSubstr("a take-over keeps the map of shards"));
  EXPECT_EQ(FileOf("a"), before);
}

// ---- logs that are left behind

// Goal: the morning of a stack without shards is not lost when it gets some.
TEST_F(ShardFileTest, RowsThatAStackHasLeftBehindAreFound) {
  ASSERT_TRUE(OpenIn("", nullptr, true).ok());
  plant_.reset();
  const auto left = [this](const ShardMap* map) { return ReadLeftLogs(directory_, "sym", map); };
  EXPECT_TRUE(left(nullptr).ok());
  EXPECT_THAT(std::string(Message(left(first_.get()).status())),
              HasSubstr("/tplog/sym2020.03.09: has rows of a day that has not ended"));
  ASSERT_TRUE(OpenIn("", nullptr, false).ok());
  ASSERT_TRUE(plant_->EndDay().ok());
  plant_.reset();
  const absl::StatusOr<NameMap<tplog::TableRows>> ended = left(first_.get());
  ASSERT_TRUE(ended.ok()) << ended.status();
  EXPECT_EQ(ended->at("feed").at("trade"), 1u);
  // A source that is done is not sent again by the tickerplants of the new shards.
  ASSERT_TRUE(OpenIn("a", first_.get(), false, *ended).ok());
  const std::string name = NameUnderMap("feed", DigestText(first_.get()));
  ASSERT_TRUE(plant_->FindEarlierRows(name).has_value());
  EXPECT_EQ(plant_->FindEarlierRows(name)->name, "feed");
  EXPECT_FALSE(plant_->FindEarlierRows(NameUnderMap("other", "")).has_value());
}

TEST_F(ShardFileTest, RowsOfAShardThatIsNoMoreAreFound) {
  ASSERT_TRUE(OpenIn("a", first_.get(), true).ok());
  plant_.reset();
  const ShardMap other = *ShardMap::Create({"b", "c"}, {});
  EXPECT_TRUE(ReadLeftLogs(directory_, "sym", second_.get()).ok());
  EXPECT_THAT(std::string(Message(ReadLeftLogs(directory_, "sym", &other).status())),
              HasSubstr("/a/tplog/sym2020.03.09: has rows"));
  EXPECT_THAT(std::string(Message(ReadLeftLogs(directory_, "sym", nullptr).status())),
              HasSubstr("/a/tplog/sym2020.03.09: has rows"));
}

}  // namespace
}  // namespace tickstack::tickerplant
