#include "feed/market/lobster/lobster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "feed/market/event_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kLobsterLine = "34200.5,1,7,18,5853300,1\n";
constexpr std::string_view kLobsterEvent =
    "order time=34200500000000 sym=AAPL seq=1 action=A side=B price=585.33 size=18 id=7";

class LobsterFileTest : public testing::Test {
 protected:
  LobsterFileTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_lobster_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~LobsterFileTest() override { fs::remove(path_); }

  std::vector<std::string> Read(std::string_view bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadPath(path_);
  }
  std::vector<std::string> ReadPath(const fs::path& path) {
    EventTexts events;
    absl::StatusOr<std::unique_ptr<LobsterFile>> file = LobsterFile::Open(path, "AAPL", 0);
    status_ = file.status();
    if (!file.ok()) return {};
    while (true) {
      const absl::StatusOr<bool> more = (*file)->Advance();
      status_ = more.status();
      if (!more.ok() || !*more) break;
      EXPECT_TRUE((*file)->Decode(events).ok());
    }
    counts_ = (*file)->counts();
    return events.texts;
  }

  fs::path path_;
  absl::Status status_;
  MessageCounts counts_;
};

TEST_F(LobsterFileTest, DecodesEveryType) {
  EXPECT_THAT(
      Read("0,1,1,18,5853300,1\n"
           "1.5,2,1,3,5853300,1\n"
           "2,3,1,15,5853300,-1\n"
           "3,4,2,5,12345,1\n"
           "4,5,0,7,12346,-1\n"
           "5,6,-1,900,20000,-1\n"
           "6,7,0,0,-1,-1\n"
           "7,7,0,0,0,-1\n"
           "86399.9999999994,7,0,0,1,-1\n"),
      ElementsAre("order time=0 sym=AAPL seq=1 action=A side=B price=585.33 size=18 id=1",
                  "order time=1500000000 sym=AAPL seq=2 action=X side=B price=585.33 size=3 id=1",
                  "order time=2000000000 sym=AAPL seq=3 action=D side=S price=585.33 size=15 id=1",
                  "order time=3000000000 sym=AAPL seq=4 action=E side=B price=1.2345 size=5 id=2",
                  "trade time=3000000000 sym=AAPL seq=4 price=1.2345 size=5 side=B cond=4",
                  "trade time=4000000000 sym=AAPL seq=5 price=1.2346 size=7 side=S cond=5",
                  "trade time=5000000000 sym=AAPL seq=6 price=2 size=900 cond=6-1",
                  "status time=6000000000 sym=AAPL seq=7 kind=trading state=-1",
                  "status time=7000000000 sym=AAPL seq=8 kind=trading state=0",
                  "status time=86399999999999 sym=AAPL seq=9 kind=trading state=1"));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.decoded['7'], 3);
  EXPECT_EQ(counts_.problems, 0);
}

TEST_F(LobsterFileTest, ALineThatDoesNotFitIsCountedWithItsPlace) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"34200.5,1,7,18,5853300", "it does not have 6 fields"},
      {"34200.5,1,7,18,5853300,1,", "it does not have 6 fields"},
      {"86400,1,7,18,5853300,1", "its time is not within a day"},
      {"86399.9999999995,1,7,18,5853300,1", "its time is not within a day"},
      {"x,1,7,18,5853300,1", "its time is not within a day"},
      {"34200.5,,7,18,5853300,1", "its type is not a digit"},
      {"34200.5,11,7,18,5853300,1", "its type is not a digit"},
      {"34200.5,A,7,18,5853300,1", "its type is not a digit"},
      {"34200.5,1,,18,5853300,1", "its order is not a number"},
      {"34200.5,1,7,-18,5853300,1", "its size is not a number of shares"},
      {"34200.5,1,7,1.5,5853300,1", "its size is not a number of shares"},
      {"34200.5,1,7,18,-1,1", "its price is not a number of 1/10000 dollar"},
      {"34200.5,1,7,18,9007199254740993,1", "its price is not a number of 1/10000 dollar"},
      {"34200.5,1,7,18,585.33,1", "its price is not a number of 1/10000 dollar"},
      {"34200.5,7,0,0,2,-1", "its price, the state of a halt, is not -1, 0 or 1"},
      {"34200.5,1,7,18,5853300,0", "its direction is neither 1 nor -1"},
      {"34200.5,1,7,18,5853300,1 ", "its direction is neither 1 nor -1"},
  };
  for (const auto& [line, why] : cases) {
    SCOPED_TRACE(line);
    EXPECT_THAT(Read(fmt::format("{}{}\n{}", kLobsterLine, line, kLobsterLine)),
                ElementsAre(kLobsterEvent, HasSubstr(" seq=3 ")));
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_EQ(counts_.problems, 1);
    EXPECT_EQ(counts_.last_problem, fmt::format("{}: line 2: {}: {}", path_.string(), why, line));
  }
}

TEST_F(LobsterFileTest, AnUnknownTypeIsCounted) {
  EXPECT_THAT(Read("34200.5,8,what,ever,5853300,1\n"), ElementsAre());
  EXPECT_EQ(counts_.unknown['8'], 1);
  EXPECT_EQ(counts_.problems, 0);
}

// Goal: a cut is never taken for a message. Method: cuts two lines after every byte.
TEST_F(LobsterFileTest, AFileThatIsCutOffAnywhereIsAnError) {
  const std::string file = fmt::format("{}34200.6,1,8,18,5853300,-1\r\n", kLobsterLine);
  for (size_t bytes = 0; bytes < file.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    const bool second_is_whole = bytes >= file.size() - 2;
    // Before its end of line, the first line is whole too.
    const size_t first_bytes = kLobsterLine.size() - 1;
    const size_t whole = second_is_whole ? 2 : bytes >= first_bytes ? 1 : 0;
    EXPECT_EQ(Read(file.substr(0, bytes)).size(), whole);
    if (bytes == 0 || second_is_whole || bytes == first_bytes || bytes == kLobsterLine.size()) {
      EXPECT_TRUE(status_.ok()) << status_;
      continue;
    }
    EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(Message(status_)),
                HasSubstr(fmt::format("{}: byte {}: the file is cut off within line {}: ",
                                      path_.string(), whole * kLobsterLine.size(), whole + 1)));
  }
}

TEST_F(LobsterFileTest, EmptyLinesArePassedOver) {
  EXPECT_THAT(Read(fmt::format("\n{}\r\n\n", kLobsterLine)), ElementsAre(kLobsterEvent));
  EXPECT_TRUE(status_.ok()) << status_;
}

TEST_F(LobsterFileTest, ReadsARealDay) {
  TS_REQUIRE_FIXTURE(path, "lobster/AAPL_2012-06-21_34200000_57600000_message_10.csv");
  const std::vector<std::string> events = ReadPath(path);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.problems, 0);
  ASSERT_GT(events.size(), 2u);
  EXPECT_EQ(events[0],
            "order time=34200004241176 sym=AAPL seq=1 action=A side=B price=585.33 size=18 "
            "id=16113575");
  EXPECT_EQ(counts_.decoded['1'] + counts_.decoded['2'] + counts_.decoded['3'] +
                counts_.decoded['4'] + counts_.decoded['5'],
            999);
}

TEST(LobsterFileName, HasSymbolAndDate) {
  const LobsterFileName whole =
      ParseLobsterFileName("a_b/BRK.B_2012-06-21_34200000_57600000_message_10.csv");
  EXPECT_EQ(whole.symbol, "BRK.B");
  EXPECT_EQ(whole.date, "2012-06-21");
  for (const char* name : {"AAPL_2012-06-21", "day.csv", "_2012-06-21_x", "AAPL_message_10.csv",
                           "AAPL_2012-13-21_message.csv", ""}) {
    EXPECT_EQ(ParseLobsterFileName(name).symbol, "") << name;
  }
}

}  // namespace
}  // namespace tickstack::feed::market
