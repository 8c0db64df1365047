#include "feed/sources/taq_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/sources/lean_archive.h"
#include "feed/sources/source_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTaqTradeLines =
    "Time|Exchange|Symbol|Sale Condition|Trade Volume|Trade Price|Trade Correction Indicator|"
    "Sequence Number|Trade Id|Source of Trade|Participant Timestamp\n"
    "093000000000001|Z|A|@  I|{}|45.88|00|5|17|C|\n"
    "093000000000002|Z|A|@  I|3|45.88|10|6|17|C|\n"
    "END|20161003|2|\n";

class TaqSourceTest : public testing::Test {
 protected:
  TaqSourceTest()
      : folder_(fs::temp_directory_path() /
                fmt::format("tickstack_taq_source_{}_{}", getpid(),
                            testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directory(folder_);
    options_.date = "2016.10.03";
    options_.path = folder_ / "EQY_US_ALL_TRADE_20161003";
  }
  ~TaqSourceTest() override { fs::remove_all(folder_); }

  void WriteTrades(std::string_view volume) const {
    std::ofstream(options_.path, std::ios::binary)
        << fmt::format(fmt::runtime(kTaqTradeLines), volume);
  }
  RowsByTable Rows() const {
    RowsByTable rows;
    const absl::StatusOr<std::unique_ptr<Source>> source = options_.Open();
    EXPECT_TRUE(source.ok()) << source.status();
    if (!source.ok()) return rows;
    (*source)->Start(0);
    const absl::Status status = Drain(**source, 0, rows);
    EXPECT_TRUE(status.ok()) << status;
    return rows;
  }
  std::string ErrorOfOpen() const { return std::string(Message(options_.Open().status())); }

  fs::path folder_;
  TaqOptions options_;
};

TEST_F(TaqSourceTest, AnOptionMakesSizesFloats) {
  const int64_t open_ns =
      DaysFromCivil(2016, 10, 3) * kNsPerDay + int64_t{34'200 + 4 * 3600} * kNsPerSecond;
  for (const auto& [sizes, volume] : {std::pair{"long", "300"}, std::pair{"float", "0.5"}}) {
    options_.sizes = sizes;
    WriteTrades(volume);
    const RowsByTable rows = Rows();
    EXPECT_THAT(rows.at("trade"), ElementsAre(fmt::format("{0},A,45.88,{1}, ,@  I,17,5,{0},Z,C",
                                                          open_ns + 1, volume)));
    EXPECT_THAT(rows.at("trade_break"),
                ElementsAre(fmt::format("{0},A,45.88,3,10,17,6,{0},Z,C", open_ns + 2)));
    for (const Schema& schema : options_.Schemas()) {
      for (const ColumnSpec& column : schema.columns) {
        if (!column.name.ends_with("size")) continue;
        EXPECT_EQ(column.type, sizes == std::string("float") ? Type::kFloat : Type::kLong);
      }
    }
  }
}

TEST_F(TaqSourceTest, SaysWhatIsWrong) {
  WriteTrades("1");
  options_.sizes = "int";
  EXPECT_EQ(ErrorOfOpen(), "sizes: expected long or float, found 'int'");
  options_.sizes = "long";
  options_.kind = "trades";
  EXPECT_EQ(ErrorOfOpen(), "kind: expected trade, quote or nbbo, found 'trades'");
  options_.kind = "";
  options_.date = "2016.10.04";
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("name is of 2016.10.03, --date is 2016.10.04"));
  options_.date = "";
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("--date is missing"));
}

TEST_F(TaqSourceTest, ReadsARealFileOfFixedWidth) {
  TS_REQUIRE_FIXTURE(path, "taq/small_test_data_public.zip");
  const absl::StatusOr<std::unique_ptr<LeanArchive>> archive = LeanArchive::Open(path);
  ASSERT_TRUE(archive.ok()) << archive.status();
  options_.path = folder_ / "taqquote20140206";
  options_.date = "2014.02.06";
  {
    std::ofstream out(options_.path, std::ios::binary);
    while (true) {
      const absl::StatusOr<std::optional<std::string_view>> line = (*archive)->Next();
      ASSERT_TRUE(line.ok()) << line.status();
      if (!*line) break;
      out << **line << "\r\n";
    }
  }
  const RowsByTable rows = Rows();
  EXPECT_EQ(rows.at("quote").size(), 9'994u);
  EXPECT_THAT(rows.at("quote").front(),
              testing::EndsWith(",AOCHDQ,24.1762,27.4168,1,1,R,,,383052,445012269362000000,N,C"));
}

}  // namespace
}  // namespace tickstack::feed
