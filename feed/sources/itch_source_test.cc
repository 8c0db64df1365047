#include "feed/sources/itch_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/event_testing.h"
#include "feed/sources/source_testing.h"

namespace tickstack::feed {
namespace {

namespace fs = std::filesystem;
using market::MessageBytes;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kSecondNs = kNsPerSecond;

std::string Framed(const std::string& message) {
  return MessageBytes().Big(message.size(), 2).bytes() + message;
}
MessageBytes Head(char type, uint64_t time_ns) {
  return MessageBytes().Text(std::string(1, type), 1).Big(1, 2).Big(0, 2).Big(time_ns, 6);
}
// An order, and the execution of all of it a second later.
std::string OrderAndExecution(uint64_t number, uint64_t time_ns) {
  return Framed(Head('A', time_ns)
                    .Big(number, 8)
                    .Text("B", 1)
                    .Big(100, 4)
                    .Text("A", 8)
                    .Big(10'000 + number, 4)
                    .bytes()) +
         Framed(Head('E', time_ns + kSecondNs).Big(number, 8).Big(100, 4).Big(number, 8).bytes());
}

class ItchSourceTest : public testing::Test {
 protected:
  ItchSourceTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_itch_source_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {
    options_.path = path_;
    options_.date = "2019.12.30";
  }
  ~ItchSourceTest() override { fs::remove(path_); }

  void Write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::unique_ptr<Source> Open() {
    absl::StatusOr<std::unique_ptr<Source>> source = options_.Open();
    EXPECT_TRUE(source.ok()) << source.status();
    return source.ok() ? *std::move(source) : nullptr;
  }
  std::string ErrorOfOpen() const { return std::string(Message(options_.Open().status())); }

  fs::path path_;
  ItchOptions options_;
};

TEST_F(ItchSourceTest, PublishesTimesInUtcAndTheTablesColumns) {
  Write(OrderAndExecution(1, 34'200 * kSecondNs));
  const std::unique_ptr<Source> source = Open();
  source->Start(0);
  RowsByTable rows;
  ASSERT_TRUE(Drain(*source, 0, rows).ok());
  const int64_t time_ns =
      DaysFromCivil(2019, 12, 30) * kNsPerDay + int64_t{34'201 + 5 * 3600} * kSecondNs;
  const std::string null = std::to_string(kNullLong);
  EXPECT_THAT(rows.at("trade"),
              ElementsAre(fmt::format("{},A,1.0001,100,B,E,1,2,{},XNAS,", time_ns, null)));
  EXPECT_EQ(rows.at("order").size(), 2);
  EXPECT_EQ(source->Counts(), (SourceCounts{{"A", 1}, {"E", 1}}));
  for (const Schema& schema : options_.Schemas()) {
    if (!rows.contains(schema.table)) continue;
    const std::string& row = rows[schema.table].front();
    EXPECT_EQ(std::ranges::count(row, ',') + 1, schema.columns.size()) << row;
  }
}

TEST_F(ItchSourceTest, PublishesTheChosenTablesOnly) {
  Write(OrderAndExecution(1, 0));
  options_.tables = {"trade"};
  const std::unique_ptr<Source> source = Open();
  EXPECT_THAT(source->tables(), ElementsAre("trade"));
  EXPECT_EQ(options_.Schemas().size(), 1);
  source->Start(0);
  RowsByTable rows;
  ASSERT_TRUE(Drain(*source, 0, rows).ok());
  EXPECT_THAT(rows, testing::SizeIs(1));
}

// Goal: after any number of rows, a feed continues with the next ones. Method: rewinds to every
// position of two tables that are not at the same message.
TEST_F(ItchSourceTest, ContinuesAfterTheRowsThatAreDone) {
  std::string file;
  for (uint64_t i = 0; i < 20; ++i) file += OrderAndExecution(i, i * kSecondNs);
  Write(file);
  options_.batch_rows = 3;
  const std::unique_ptr<Source> source = Open();
  source->Start(0);
  RowsByTable all;
  ASSERT_TRUE(Drain(*source, 0, all).ok());
  ASSERT_EQ(all["order"].size(), 40);
  ASSERT_EQ(all["trade"].size(), 20);
  for (int64_t orders = 0; orders <= 40; ++orders) {
    for (const int64_t trades : {int64_t{0}, orders / 2, int64_t{20}}) {
      ASSERT_TRUE(source->Rewind({{"order", orders}, {"trade", trades}}).ok());
      RowsByTable rows = {{"order", {all["order"].begin(), all["order"].begin() + orders}},
                          {"trade", {all["trade"].begin(), all["trade"].begin() + trades}}};
      ASSERT_TRUE(Drain(*source, 0, rows).ok());
      EXPECT_EQ(rows, all);
    }
  }
}

TEST_F(ItchSourceTest, IsPacedAsRecordedOrFaster) {
  Write(OrderAndExecution(1, 100 * kSecondNs) + OrderAndExecution(2, 108 * kSecondNs));
  options_.speed = 2;
  const std::unique_ptr<Source> source = Open();
  const int64_t begin_ns = 1'000 * kSecondNs;
  source->Start(begin_ns);
  RowsByTable rows;
  ASSERT_TRUE(Drain(*source, begin_ns, rows).ok());
  EXPECT_EQ(rows["order"].size(), 1);
  EXPECT_EQ(source->next_due_ns(), begin_ns + kSecondNs / 2);
  ASSERT_TRUE(Drain(*source, begin_ns + kSecondNs / 2 - 1, rows).ok());
  EXPECT_EQ(rows["order"].size(), 1);
  ASSERT_TRUE(Drain(*source, begin_ns + kSecondNs / 2, rows).ok());
  EXPECT_EQ(rows["order"].size(), 2);
  EXPECT_EQ(rows["trade"].size(), 1);
  EXPECT_EQ(source->next_due_ns(), begin_ns + 4 * kSecondNs);
  // A reconnect does not move the clock.
  ASSERT_TRUE(source->Rewind({{"order", 2}, {"trade", 1}}).ok());
  ASSERT_TRUE(Drain(*source, begin_ns + 5 * kSecondNs, rows).ok());
  EXPECT_EQ(rows["order"].size(), 4);
  EXPECT_EQ(source->next_due_ns(), kNeverDue);
}

TEST_F(ItchSourceTest, AnErrorComesAfterTheRowsBeforeIt) {
  Write(OrderAndExecution(1, 0) + "x");
  const std::unique_ptr<Source> source = Open();
  source->Start(0);
  RowsByTable rows;
  const absl::Status status = Drain(*source, 0, rows);
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(rows["order"].size(), 2);
}

TEST_F(ItchSourceTest, SaysWhichOptionIsWrong) {
  EXPECT_THAT(ErrorOfOpen(), HasSubstr(path_.string()));  // There is no such file.
  Write("");
  options_.date = "";
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("--date is missing"));
  options_.date = "2019.12.30";
  options_.tables = {"quotes"};
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("tables: 'quotes', expected instrument, status"));
  options_.tables = {};
  options_.time_zone = "Mars";
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("time zone Mars"));
  options_.time_zone = "UTC";
  options_.speed = -1;
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("speed -1"));
  options_.speed = 0;
  options_.path = "";
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("--path is missing"));
}

TEST_F(ItchSourceTest, OtherRowsHaveAnotherName) {
  const std::string name = options_.RowsName();
  EXPECT_THAT(name, testing::StartsWith("itch.2019.12.30."));
  const auto differs = [&](auto change) {
    ItchOptions other;
    other.path = options_.path;
    other.date = options_.date;
    change(other);
    return other.RowsName() != name;
  };
  EXPECT_FALSE(differs([](ItchOptions&) {}));
  EXPECT_TRUE(differs([](ItchOptions& o) { o.path += "x"; }));
  EXPECT_TRUE(differs([](ItchOptions& o) { o.date = "2019.12.31"; }));
  EXPECT_TRUE(differs([](ItchOptions& o) { o.venue = "XBOS"; }));
  EXPECT_TRUE(differs([](ItchOptions& o) { o.tables = {"trade"}; }));
}

}  // namespace
}  // namespace tickstack::feed
