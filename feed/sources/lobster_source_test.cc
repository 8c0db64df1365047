#include "feed/sources/lobster_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/sources/source_testing.h"

namespace tickstack::feed {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class LobsterSourceTest : public testing::Test {
 protected:
  LobsterSourceTest()
      : folder_(fs::temp_directory_path() /
                fmt::format("tickstack_lobster_source_{}_{}", getpid(),
                            testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directory(folder_);
    options_.date = "2012.06.21";
    UseFile("AAPL_2012-06-21_34200000_57600000_message_10.csv");
  }
  ~LobsterSourceTest() override { fs::remove_all(folder_); }

  void UseFile(const std::string& name) {
    options_.path = folder_ / name;
    std::ofstream(options_.path) << "34200.5,4,7,18,5853300,-1\n";
  }
  RowsByTable Rows() const {
    RowsByTable rows;
    const absl::StatusOr<std::unique_ptr<Source>> source = options_.Open();
    EXPECT_TRUE(source.ok()) << source.status();
    if (!source.ok()) return rows;
    (*source)->Start(0);
    EXPECT_TRUE(Drain(**source, 0, rows).ok());
    return rows;
  }
  std::string ErrorOfOpen() const { return std::string(Message(options_.Open().status())); }

  fs::path folder_;
  LobsterOptions options_;
};

TEST_F(LobsterSourceTest, PublishesTimesInUtcAndTheSymbolOfTheName) {
  const int64_t time_ns = DaysFromCivil(2012, 6, 21) * kNsPerDay +
                          int64_t{34'200 + 4 * 3600} * kNsPerSecond + kNsPerSecond / 2;
  const std::string null = std::to_string(kNullLong);
  const RowsByTable rows = Rows();
  EXPECT_THAT(rows.at("trade"),
              ElementsAre(fmt::format("{},AAPL,585.33,18,S,4,{},1,{},XNAS,", time_ns, null, null)));
  EXPECT_THAT(rows.at("order"),
              ElementsAre(fmt::format("{},AAPL,E,S,585.33,18,7,{},{},,,1,{},XNAS,", time_ns, null,
                                      null, null)));
}

TEST_F(LobsterSourceTest, AnOptionNamesTheSymbolOfAnyFile) {
  options_.symbol = "MSFT";
  EXPECT_THAT(Rows().at("trade"), ElementsAre(HasSubstr(",MSFT,")));
  UseFile("day.csv");
  EXPECT_THAT(Rows().at("trade"), ElementsAre(HasSubstr(",MSFT,")));
}

TEST_F(LobsterSourceTest, SaysWhatIsMissingOrDiffers) {
  options_.date = "2012.06.22";
  EXPECT_THAT(ErrorOfOpen(), HasSubstr(": the file's name is of 2012-06-21, --date is 2012.06.22"));
  options_.date = "";
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("--date is missing"));
  options_.date = "2012.06.21";
  UseFile("day.csv");
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("name its symbol (--symbol"));
  options_.tables = {"level"};
  EXPECT_THAT(ErrorOfOpen(), HasSubstr("tables: 'level', expected status, order, trade"));
}

TEST_F(LobsterSourceTest, OtherRowsHaveAnotherName) {
  const std::string name = options_.RowsName();
  EXPECT_THAT(name, testing::StartsWith("lobster.2012.06.21."));
  EXPECT_EQ(name, options_.RowsName());
  options_.symbol = "MSFT";
  EXPECT_NE(name, options_.RowsName());
}

}  // namespace
}  // namespace tickstack::feed
