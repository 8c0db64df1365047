#include "feed/sources/dbn_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "feed/market/dbn/dbn_testing.h"
#include "feed/sources/source_testing.h"

namespace tickstack::feed {
namespace {

namespace fs = std::filesystem;
using market::DbnHeader;
using market::DbnOrderBytes;
using testing::ElementsAre;
using testing::HasSubstr;

class DbnSourceTest : public testing::Test {
 protected:
  DbnSourceTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_dbn_source_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {
    options_.path = path_;
    options_.date = "2023.12.25";
  }
  ~DbnSourceTest() override { fs::remove(path_); }

  void Write(const std::string& records) const {
    std::ofstream(path_, std::ios::binary)
        << DbnHeader(3, {{.name = "ESH4", .other = "7"}}) << records;
  }
  std::unique_ptr<Source> Open() const {
    absl::StatusOr<std::unique_ptr<Source>> source = options_.Open();
    EXPECT_TRUE(source.ok()) << source.status();
    return *std::move(source);
  }

  fs::path path_;
  DbnOptions options_;
};

TEST_F(DbnSourceTest, PublishesTheVenueOfEachRecordAndNamesTheTypes) {
  std::string other = DbnOrderBytes('T', 'A', 2'500'000'000, 4);
  other[2] = 2;  // The publisher.
  Write(DbnOrderBytes('A', 'B', 1'500'000'000, 3) + DbnOrderBytes('T', 'B', 1'500'000'000, 3) +
        other + market::DbnRecordBytes(0x77, ""));
  const std::unique_ptr<Source> source = Open();
  source->Start(0);
  RowsByTable rows;
  ASSERT_TRUE(Drain(*source, 0, rows).ok());
  const std::string null = std::to_string(kNullLong);
  EXPECT_THAT(rows.at("trade"),
              ElementsAre(fmt::format("1,ESH4,1.5,3,B,82,{},9,2,GLBX,GLBX.MDP3 3", null),
                          fmt::format("1,ESH4,2.5,4,S,82,{},9,2,XNAS,GLBX.MDP3 3", null)));
  EXPECT_EQ(source->Counts(), (SourceCounts{{"mbo", 3}, {"unknown_w", 1}}));
  for (const Schema& schema : options_.Schemas()) {
    if (!rows.contains(schema.table)) continue;
    EXPECT_EQ(std::ranges::count(rows[schema.table].front(), ',') + 1, schema.columns.size());
  }
}

TEST_F(DbnSourceTest, ContinuesAfterTheRowsThatAreDone) {
  std::string records;
  for (int i = 0; i < 20; ++i) records += DbnOrderBytes(i % 3 == 0 ? 'T' : 'A', 'B', i, 1);
  Write(records);
  options_.batch_rows = 3;
  const std::unique_ptr<Source> source = Open();
  source->Start(0);
  RowsByTable all;
  ASSERT_TRUE(Drain(*source, 0, all).ok());
  ASSERT_EQ(all["order"].size(), 13);
  ASSERT_EQ(all["trade"].size(), 7);
  for (int64_t orders = 0; orders <= 13; ++orders) {
    for (const int64_t trades : {int64_t{0}, orders / 2, int64_t{7}}) {
      ASSERT_TRUE(source->Rewind({{"order", orders}, {"trade", trades}}).ok());
      RowsByTable rows = {{"order", {all["order"].begin(), all["order"].begin() + orders}},
                          {"trade", {all["trade"].begin(), all["trade"].begin() + trades}}};
      ASSERT_TRUE(Drain(*source, 0, rows).ok());
      EXPECT_EQ(rows, all);
    }
  }
}

TEST_F(DbnSourceTest, SaysWhatIsWrong) {
  const auto error = [&] { return std::string(Message(options_.Open().status())); };
  EXPECT_THAT(error(), HasSubstr(path_.string()));  // There is no such file.
  std::ofstream(path_) << "time,sym,price";
  EXPECT_THAT(error(), HasSubstr("byte 0: expected DBN, found another format"));
  options_.tables = {"gap"};
  EXPECT_THAT(error(), HasSubstr("tables: 'gap', expected instrument, statistic"));
  options_.path = "";
  EXPECT_THAT(error(), HasSubstr("--path is missing"));
  EXPECT_THAT(options_.RowsName(), testing::StartsWith("dbn.2023.12.25."));
}

}  // namespace
}  // namespace tickstack::feed
