#include "feed/market/pitch/pitch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/event_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

// Writes files, and reads their events as texts without the time.
class PitchFileTest : public testing::Test {
 protected:
  PitchFileTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_pitch_file_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~PitchFileTest() override { fs::remove(path_); }

  // Reads lines that begin with 10:00:00.001.
  std::vector<std::string> Read(const std::vector<std::string>& lines) {
    std::string file;
    for (const std::string& line : lines) file += "S36000001" + line + "\r\n";
    return ReadBytes(file);
  }
  std::vector<std::string> ReadBytes(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadPath(path_);
  }
  std::vector<std::string> ReadPath(const fs::path& path) {
    EventTexts events;
    absl::StatusOr<std::unique_ptr<PitchFile>> file = PitchFile::Open(path, 0);
    status_ = file.status();
    if (!file.ok()) return {};
    while (true) {
      const absl::StatusOr<bool> more = (*file)->Advance();
      status_ = more.status();
      if (!more.ok() || !*more) break;
      status_ = (*file)->Decode(events);
      if (!status_.ok()) break;
    }
    counts_ = (*file)->counts();
    const std::string time = fmt::format(" time={}", 36'000'001 * int64_t{1'000'000});
    for (std::string& text : events.texts) {
      if (const size_t at = text.find(time); at != std::string::npos) text.erase(at, time.size());
    }
    return events.texts;
  }

  fs::path path_;
  absl::Status status_;
  MessageCounts counts_;
};

TEST_F(PitchFileTest, AnOrderIsCompleteInEachOfItsEvents) {
  EXPECT_THAT(
      Read({"A00000000000AB000500SPY   0001234500Y", "E00000000000A00010000000000000Z",
            "X00000000000A000100", "X00000000000A000300", "X00000000000A000300"}),
      ElementsAre("order sym=SPY seq=1 action=A side=B price=123.45 size=500 id=10 cond=Y",
                  "order sym=SPY seq=2 action=E side=B price=123.45 size=100 id=10 trade=35",
                  "trade sym=SPY seq=2 price=123.45 size=100 side=B cond=E id=35",
                  "order sym=SPY seq=3 action=X side=B price=123.45 size=100 id=10",
                  "order sym=SPY seq=4 action=X side=B price=123.45 size=300 id=10",
                  "order seq=5 action=X size=300 id=10"));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.unmatched, 1);
}

TEST_F(PitchFileTest, DecodesLongNamesAndPrices) {
  EXPECT_THAT(
      Read({"d00000000000AB000500LONGNAME0001234500YNITER",
            "100000000000BS000500LONGNAME00001234567890YNITE ",
            "P000000000000B000100SPY   000123450000000000000A",
            "r000000000000B000100LONGNAME000123450000000000000B",
            "2000000000000S000100LONGNAME0000000001234500000000000C"}),
      ElementsAre(
          "order sym=LONGNAME seq=1 action=A side=B price=123.45 size=500 id=10 cond=YR mpid=NITE",
          "order sym=LONGNAME seq=2 action=A side=S price=123456.789 size=500 id=11 cond=Y "
          "mpid=NITE",
          "trade sym=SPY seq=3 price=123.45 size=100 side=B cond=P id=10",
          "trade sym=LONGNAME seq=4 price=123.45 size=100 side=B cond=P id=11",
          "trade sym=LONGNAME seq=5 price=1.2345 size=100 side=S cond=P id=12"));
}

TEST_F(PitchFileTest, DecodesTheOtherTypes) {
  EXPECT_THAT(
      Read({"A00000000000AB000500SPY   0001234500Y", "sSPY     ", "X00000000000A000500",
            "B00000000000Z", "HSPY     H1  ", "RSPY     A",
            ("ISPY     O000001000000000003000000000500"
             "00000200000000030000"),
            "3SPY     C00000000010000000000050000000003000000000002000000000000030000",
            "JSPY     O00000100000000000300", "4SPY     O000000000100000000000300"}),
      ElementsAre(testing::_, "order sym=SPY seq=2 action=R", "order seq=3 action=X size=500 id=10",
                  "trade_break seq=4 id=35", "status sym=SPY seq=5 kind=trading state=H reason=1",
                  "status sym=SPY seq=6 kind=retail state=A",
                  "auction sym=SPY seq=7 kind=O side=S paired=300 imbalance=200 ref=1 "
                  "indicative=2 book=3",
                  "auction sym=SPY seq=8 kind=C side=B paired=300 imbalance=200 ref=1 "
                  "indicative=2 book=3",
                  "auction sym=SPY seq=9 kind=O state=summary paired=300 indicative=1",
                  "auction sym=SPY seq=10 kind=O state=summary paired=300 indicative=1"));
  EXPECT_EQ(counts_.problems, 0) << counts_.last_problem;
}

TEST_F(PitchFileTest, OtherLinesArePassedOverAndCounted) {
  EXPECT_THAT(ReadBytes("H\n+debug\n\n36000001X00000000000A000500\nS36000001?\n"),
              ElementsAre("order seq=1 action=X size=500 id=10"));
  EXPECT_EQ(counts_.unknown['H'], 1);
  EXPECT_EQ(counts_.unknown['+'], 1);
  EXPECT_EQ(counts_.unknown[0], 1);
  EXPECT_EQ(counts_.unknown['?'], 1);
  EXPECT_EQ(counts_.problems, 0);
}

TEST_F(PitchFileTest, ALineThatDoesNotFitIsCountedWithItsPlace) {
  const std::string good = "S36000001X00000000000A000500\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"S36000001X00000000000A00050", "it is shorter than its type"},
      {"S3600001X00000000000A000500", "it has no time of day and type"},
      {"S86400000X00000000000A000500", "it has no time of day and type"},
      {"S36000001X00000000000A0005-0", "a number has other characters"},
      {"S36000001X00000000000a000500", "a number of base 36 has other characters"},
      {"S36000001A00000000000AZ000500SPY   0001234500Y", "its side is neither B nor S"},
      {"S36000001A00000000000AB000500SP\x01   0001234500Y", "it is not ASCII"},
      {"S36000001s        ", "it has no symbol"},
  };
  for (const auto& [line, why] : cases) {
    EXPECT_THAT(ReadBytes(good + line + "\n" + good), testing::SizeIs(2)) << line;
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_EQ(counts_.problems, 1);
    EXPECT_EQ(counts_.last_problem,
              fmt::format("{}: byte 29: line 2 of {} bytes: {}", path_.string(), line.size(), why));
  }
}

TEST_F(PitchFileTest, AFileThatIsCutOffWithinALineIsAnError) {
  const std::string line = "S36000001X00000000000A000500";
  for (size_t bytes = 0; bytes <= line.size() + 1; ++bytes) {
    const size_t events = ReadBytes(line + "\n" + (line + "\n").substr(0, bytes)).size();
    if (bytes == 0 || bytes >= line.size()) {
      EXPECT_TRUE(status_.ok()) << status_;
      EXPECT_EQ(events, bytes == 0 ? 1 : 2);
      continue;
    }
    EXPECT_EQ(events, 1);
    EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(
        std::string(Message(status_)),
        HasSubstr(fmt::format("{}: byte 29: the file is cut off within line 2", path_.string())));
  }
}

TEST_F(PitchFileTest, AFileWithoutLinesIsAnError) {
  EXPECT_TRUE(ReadBytes(std::string(70'000, 'x')).empty());
  EXPECT_THAT(std::string(Message(status_)), HasSubstr("byte 0: line 1 has more than"));
}

TEST_F(PitchFileTest, ReadsTwentyThousandRealLines) {
  TS_REQUIRE_FIXTURE(path, "pitch/tcp-ascii/pitch_example_data");
  EXPECT_THAT(ReadPath(path), testing::SizeIs(20'020));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.decoded['A'], 10'361);
  EXPECT_EQ(counts_.decoded['E'], 20);
  EXPECT_EQ(counts_.decoded['P'], 27);
  EXPECT_EQ(counts_.decoded['X'], 9'592);
  EXPECT_EQ(counts_.problems, 0);
}

}  // namespace
}  // namespace tickstack::feed::market
