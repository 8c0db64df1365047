#include "feed/market/lobster/lobster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
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
                          testing::UnitTest::GetInstance()->current_test_info()->name())),
        book_path_(path_.string() + "_book") {}
  ~LobsterFileTest() override {
    fs::remove(path_);
    fs::remove(book_path_);
  }

  std::vector<std::string> Read(std::string_view bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadPath(path_);
  }
  // Reads as many messages as the book has lines, or `messages`.
  std::vector<std::string> ReadBook(std::string_view book, int64_t messages = -1) {
    std::ofstream(book_path_, std::ios::binary) << book;
    std::string lines;
    if (messages < 0) messages = std::ranges::count(book, '\n') + (book.ends_with('\n') ? 0 : 1);
    for (int64_t i = 0; i < messages; ++i) lines += "1,7,0,0,0,-1\n";
    std::ofstream(path_, std::ios::binary) << lines;
    std::vector<std::string> events = ReadPath(path_, book_path_);
    std::erase_if(events, [](const std::string& event) { return event.starts_with("status"); });
    for (std::string& event : events) event.erase(event.find("time="), kBookHeadBytes);
    return events;
  }
  std::vector<std::string> ReadPath(const fs::path& path, const std::string& book_path = {}) {
    EventTexts events;
    absl::StatusOr<std::unique_ptr<LobsterFile>> file =
        LobsterFile::Open(path, "AAPL", 0, book_path);
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

  static constexpr size_t kBookHeadBytes = std::string_view("time=1000000000 sym=AAPL ").size();
  fs::path path_;
  std::string book_path_;
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

TEST_F(LobsterFileTest, ABookGivesWhatChanged) {
  EXPECT_THAT(
      ReadBook("20000,5,19000,7,21000,3,18000,2\n"
               "20000,5,19000,7,21000,3,18000,2\n"
               "20000,4,19000,7,9999999999,0,18500,1\n"
               "9999999999,0,-9999999999,0,9999999999,0,-9999999999,0\n"),
      ElementsAre(
          "quote seq=1 bid=1.9 ask=2 bsize=7 asize=5",
          "level seq=1 side=B price=1.9 size=7 incomplete",
          "level seq=1 side=B price=1.8 size=2 incomplete",
          "level seq=1 side=S price=2 size=5 incomplete", "level seq=1 side=S price=2.1 size=3",
          "quote seq=3 bid=1.9 ask=2 bsize=7 asize=4",
          "level seq=3 side=B price=1.85 size=1 incomplete",
          "level seq=3 side=B price=1.8 size=0 incomplete",
          "level seq=3 side=S price=2 size=4 incomplete", "level seq=3 side=S price=2.1 size=0",
          "quote seq=4", "level seq=4 side=B price=1.9 size=0 incomplete",
          "level seq=4 side=B price=1.85 size=0 incomplete", "level seq=4 side=S price=2 size=0"));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.problems, 0);
}

TEST_F(LobsterFileTest, ALineOfABookThatDoesNotFitIsCountedWithItsMessage) {
  for (const auto& [line, why] : std::vector<std::pair<std::string, std::string>>{
           {"20000,5,19000", "it does not have 4 fields for each level"},
           {"20000,5,19000,7,21000,3,18000,2", "its number of levels is another"},
           {"20000,x,19000,7", "a size is not a number of shares"},
           {"20000,5,19000,-7", "a size is not a number of shares"},
           {"-9999999999,5,19000,7", "a price is not a number of 1/10000 dollar"},
           {"20000,5,9999999999999999999,7", "a price is not a number of 1/10000 dollar"},
       }) {
    SCOPED_TRACE(line);
    EXPECT_THAT(ReadBook(fmt::format("20000,5,19000,7\n{}\n20000,6,19000,7\n", line)),
                ElementsAre("quote seq=1 bid=1.9 ask=2 bsize=7 asize=5", HasSubstr("seq=1 side=B"),
                            HasSubstr("seq=1 side=S"), "quote seq=3 bid=1.9 ask=2 bsize=7 asize=6",
                            "level seq=3 side=S price=2 size=6"));
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_THAT(counts_.last_problem,
                HasSubstr("line 2: its line of the orderbook file does not fit: " + why));
  }
  EXPECT_THAT(ReadBook("20000,5,19000,7,20000,3,18000,2\n"), ElementsAre());
  EXPECT_THAT(counts_.last_problem, HasSubstr("its asks are not in order"));
}

// Goal: a cut never gives another book. Method: cuts two lines after every byte.
TEST_F(LobsterFileTest, ABookThatIsCutOffAnywhere) {
  const std::string first = "20000,5,19000,7,21000,3,18000,2\n";
  const std::string second = "20000,5,19000,7,21000,3,17000,25";
  const std::vector<std::string> begin = ReadBook(first);
  ASSERT_EQ(begin.size(), 5u);
  for (size_t bytes = 0; bytes < second.size(); ++bytes) {
    SCOPED_TRACE(bytes);
    EXPECT_EQ(ReadBook(first + second.substr(0, bytes), 2), begin);
    // A line that ends within its last number has one level less.
    EXPECT_EQ(status_.ok(), bytes == second.size() - 1) << status_;
    EXPECT_THAT(std::string(Message(status_)),
                testing::AnyOf("", HasSubstr("the file is cut off within line 2"),
                               HasSubstr("it ends after line 1, before the messages do")));
  }
  EXPECT_EQ(ReadBook(first + second), begin) << "the last level may have been cut off";
  EXPECT_EQ(ReadBook(first + second + "\n").size(), begin.size() + 2);
  EXPECT_EQ(ReadBook("20000,5,19000,7\n20000,5,19500,7").size(), 3u);
}

TEST_F(LobsterFileTest, ABookHasALineForEachMessage) {
  ReadBook("20000,5,19000,7\n20000,5,19000,7\n", 1);
  EXPECT_EQ(Message(status_), book_path_ + ": line 2: there is no message for it");
  EXPECT_EQ(ReadBook("20000,5,19000,7\n", 2).size(), 3u);
  EXPECT_EQ(Message(status_), book_path_ + ": it ends after line 1, before the messages do");
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
