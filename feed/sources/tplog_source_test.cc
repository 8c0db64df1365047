#include "feed/sources/tplog_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/sources/source_testing.h"
#include "tests/support/fixtures.h"
#include "tplog/tplog_format.h"

namespace tickstack::feed {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

class TplogSourceTest : public testing::Test {
 protected:
  TplogSourceTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_tplog_source_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::remove(path_);
    log_.Append(tplog::kTplogHeader);
  }
  ~TplogSourceTest() override { fs::remove(path_); }

  void Log(std::string_view table, std::vector<Value> columns) {
    std::vector<Value> message;
    message.push_back(Value::Symbol("upd"));
    message.push_back(Value::Symbol(table));
    message.push_back(Value::List(std::move(columns)));
    LogValue(Value::List(std::move(message)));
  }
  void LogValue(const Value& message) { wire::Encode(message, log_); }
  // Logs a message of rows at these times, with one more column.
  void LogTimes(std::string_view table, std::initializer_list<int64_t> times_ns) {
    ByteBuffer times;
    for (const int64_t ns : times_ns) times.AppendLittle(ns);
    Log(table, {Value::Vector(Type::kTimestamp, std::move(times)), Value::Longs(times_ns)});
  }

  absl::StatusOr<std::unique_ptr<TplogSource>> Open(double speed = 0) {
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(log_.data()),
               static_cast<std::streamsize>(log_.size()));
    TplogOptions options;
    options.path = path_;
    options.speed = speed;
    return TplogSource::Create(options);
  }

  fs::path path_;
  ByteBuffer log_;
};

TEST_F(TplogSourceTest, PublishesTheMessagesAsTheyAre) {
  LogTimes("quote", {5, 6});
  LogTimes("trade", {7});
  LogTimes("quote", {8});
  absl::StatusOr<std::unique_ptr<TplogSource>> source = Open();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT((*source)->tables(), ElementsAre("quote", "trade"));
  (*source)->Start(0);
  RowsByTable rows;
  ASSERT_TRUE(Drain(**source, 0, rows).ok());
  EXPECT_THAT(rows["quote"], ElementsAre("5,5", "6,6", "8,8"));
  EXPECT_THAT(rows["trade"], ElementsAre("7,7"));
  EXPECT_EQ((*source)->next_due_ns(), kNeverDue);
}

TEST_F(TplogSourceTest, PassesOverWhatIsNoUpdAndCountsIt) {
  LogTimes("quote", {5});
  LogValue(Value::Longs({1, 2}));
  LogTimes("quote", {6});
  absl::StatusOr<std::unique_ptr<TplogSource>> source = Open();
  ASSERT_TRUE(source.ok());
  RowsByTable rows;
  ASSERT_TRUE(Drain(**source, 0, rows).ok());
  EXPECT_THAT(rows["quote"], ElementsAre("5,5", "6,6"));
  EXPECT_THAT((*source)->Describe(), EndsWith("messages=3 skipped=1"));
}

// Within a message, it returns the whole message: the tickerplant drops the rows that it has.
TEST_F(TplogSourceTest, RewindsToTheMessageThatHoldsTheRow) {
  LogTimes("quote", {0, 1, 2});
  LogTimes("trade", {0, 1});
  LogTimes("quote", {3, 4});
  LogTimes("trade", {2});
  absl::StatusOr<std::unique_ptr<TplogSource>> source = Open();
  ASSERT_TRUE(source.ok());
  const auto rest = [&source](int64_t quotes, int64_t trades) {
    EXPECT_TRUE((*source)->Rewind({{"quote", quotes}, {"trade", trades}}).ok());
    std::string text;
    while (true) {
      const absl::StatusOr<const FeedBatch*> batch = (*source)->Next(0);
      EXPECT_TRUE(batch.ok());
      if (*batch == nullptr) return text;
      text += fmt::format("{}{}+{} ", (*batch)->table[0], (*batch)->first_row, (*batch)->rows);
    }
  };
  EXPECT_EQ(rest(0, 0), "q0+3 t0+2 q3+2 t2+1 ");
  EXPECT_EQ(rest(2, 2), "q0+3 q3+2 t2+1 ");
  EXPECT_EQ(rest(3, 0), "t0+2 q3+2 t2+1 ");
  EXPECT_EQ(rest(5, 2), "t2+1 ");
  EXPECT_EQ(rest(5, 3), "");
  EXPECT_EQ(rest(0, 3), "q0+3 q3+2 ");
}

TEST_F(TplogSourceTest, PacesByTheFirstTimes) {
  LogTimes("quote", {kNsPerDay});
  LogTimes("quote", {kNsPerDay + kNsPerSecond});
  // Without a time: due with the previous one.
  Log("quote", {Value::Longs({1}), Value::Longs({1})});
  LogTimes("quote", {kNsPerDay + 4 * kNsPerSecond});
  LogTimes("quote", {0});  // Before the start: due immediately.
  absl::StatusOr<std::unique_ptr<TplogSource>> source = Open(2);
  ASSERT_TRUE(source.ok());
  constexpr int64_t kStartNs = 777 * kNsPerDay;
  (*source)->Start(kStartNs);
  RowsByTable rows;
  EXPECT_EQ((*source)->next_due_ns(), kStartNs);
  ASSERT_TRUE(Drain(**source, kStartNs, rows).ok());
  EXPECT_EQ(rows["quote"].size(), 1u);
  EXPECT_EQ((*source)->next_due_ns(), kStartNs + kNsPerSecond / 2);
  ASSERT_TRUE(Drain(**source, kStartNs + kNsPerSecond / 2, rows).ok());
  EXPECT_EQ(rows["quote"].size(), 3u);
  ASSERT_TRUE(Drain(**source, kStartNs + 2 * kNsPerSecond, rows).ok());
  EXPECT_EQ(rows["quote"].size(), 5u);
}

TEST_F(TplogSourceTest, RefusesWhatIsNoLog) {
  log_ = ByteBuffer(AsBytes("id,price\n1,2.5\n"));
  EXPECT_EQ(Open().status().code(), absl::StatusCode::kInvalidArgument);
  TplogOptions options;
  EXPECT_THAT(std::string(Message(TplogSource::Create(options).status())), HasSubstr("path ''"));
  options.path = path_.string() + ".gone";
  EXPECT_EQ(TplogSource::Create(options).status().code(), absl::StatusCode::kNotFound);
  options.speed = -1;
  EXPECT_THAT(std::string(Message(TplogSource::Create(options).status())), HasSubstr("speed -1"));
}

TEST(TplogFixtures, PublishesEveryMessageOfALogThatKdbWrote) {
  TS_REQUIRE_FIXTURE(path, "kdb/SirCsimbok-kdb-tick/schema2024.01.29");
  TplogOptions options;
  options.path = path;
  absl::StatusOr<std::unique_ptr<TplogSource>> source = TplogSource::Create(options);
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT((*source)->Describe(), EndsWith("messages=1696 skipped=0"));
  NameMap<int64_t> next_row;
  int batches = 0;
  while (true) {
    const absl::StatusOr<const FeedBatch*> batch = (*source)->Next(0);
    ASSERT_TRUE(batch.ok());
    if (*batch == nullptr) break;
    ++batches;
    int64_t& row = next_row[(*batch)->table];
    EXPECT_EQ((*batch)->first_row, row);
    row += (*batch)->rows;
  }
  EXPECT_EQ(batches, 1'696);
}

}  // namespace
}  // namespace tickstack::feed
