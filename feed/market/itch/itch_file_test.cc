#include "feed/market/itch/itch_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/event_testing.h"
#include "feed/market/exchange_day.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr uint64_t kTime = 34'200'000'000'001;  // 09:30 and 1 ns.

// The beginning of a message.
MessageBytes Head(char type, uint16_t locate = 7, uint64_t time_ns = kTime) {
  return MessageBytes().Text(std::string(1, type), 1).Big(locate, 2).Big(3, 2).Big(time_ns, 6);
}
std::string Added(uint64_t reference, char side, uint32_t shares, uint32_t price) {
  return Head('A')
      .Big(reference, 8)
      .Text(std::string(1, side), 1)
      .Big(shares, 4)
      .Text("AAPL", 8)
      .Big(price, 4)
      .bytes();
}

// Writes files, and reads their events as texts without the head's fields.
class ItchFileTest : public testing::Test {
 protected:
  ItchFileTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_itch_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~ItchFileTest() override { fs::remove(path_); }

  static std::string Framed(const std::vector<std::string>& messages) {
    std::string file;
    for (const std::string& message : messages) {
      file += MessageBytes().Big(message.size(), 2).bytes() + message;
    }
    return file;
  }

  std::vector<std::string> ReadBytes(const std::string& file) {
    std::ofstream(path_, std::ios::binary) << file;
    return ReadPath(path_);
  }
  std::vector<std::string> Read(const std::vector<std::string>& messages) {
    return ReadBytes(Framed(messages));
  }
  std::vector<std::string> ReadPath(const fs::path& path, int64_t midnight_ns = 0) {
    EventTexts events;
    absl::StatusOr<std::unique_ptr<ItchFile>> file = ItchFile::Open(path, midnight_ns);
    status_ = file.status();
    if (!file.ok()) return {};
    while (true) {
      const absl::StatusOr<bool> more = (*file)->Advance();
      status_ = more.status();
      if (!more.ok() || !*more) break;
      EXPECT_TRUE((*file)->Decode(events).ok());
    }
    counts_ = (*file)->counts();
    const std::string time = fmt::format(" time={}", kTime);
    for (std::string& text : events.texts) {
      if (const size_t at = text.find(time); at != std::string::npos) text.erase(at, time.size());
    }
    return events.texts;
  }

  fs::path path_;
  absl::Status status_;
  MessageCounts counts_;
};

TEST_F(ItchFileTest, AnOrderIsCompleteInEachOfItsEvents) {
  EXPECT_THAT(
      Read({Added(10, 'B', 500, 1'234'500), Head('E').Big(10, 8).Big(100, 4).Big(77, 8).bytes(),
            Head('C').Big(10, 8).Big(50, 4).Big(78, 8).Text("Y", 1).Big(1'234'400, 4).bytes(),
            Head('C').Big(10, 8).Big(50, 4).Big(79, 8).Text("N", 1).Big(1'234'300, 4).bytes(),
            Head('X').Big(10, 8).Big(60, 4).bytes(),
            Head('U').Big(10, 8).Big(11, 8).Big(300, 4).Big(1'230'001, 4).bytes(),
            Head('D').Big(11, 8).bytes()}),
      ElementsAre("order sym=AAPL seq=1 action=A side=B price=123.45 size=500 id=10",
                  "order sym=AAPL seq=2 action=E side=B price=123.45 size=100 id=10 trade=77",
                  "trade sym=AAPL seq=2 price=123.45 size=100 side=B cond=E id=77",
                  "order sym=AAPL seq=3 action=E side=B price=123.44 size=50 id=10 trade=78 cond=Y",
                  "trade sym=AAPL seq=3 price=123.44 size=50 side=B cond=CY id=78",
                  "order sym=AAPL seq=4 action=E side=B price=123.43 size=50 id=10 trade=79 cond=N",
                  "order sym=AAPL seq=5 action=X side=B price=123.45 size=60 id=10",
                  "order sym=AAPL seq=6 action=U side=B price=123.0001 size=300 id=11 old=10",
                  "order sym=AAPL seq=7 action=D side=B price=123.0001 size=300 id=11"));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.unmatched, 0);
  EXPECT_EQ(counts_.decoded['C'], 2);
}

TEST_F(ItchFileTest, AnOrderThatIsExecutedOrCancelledWhollyIsForgotten) {
  EXPECT_THAT(
      Read({Added(10, 'S', 100, 10'000), Head('E').Big(10, 8).Big(100, 4).Big(77, 8).bytes(),
            Head('D').Big(10, 8).bytes()}),
      testing::Contains("order sym=AAPL seq=3 action=D id=10"));
  EXPECT_EQ(counts_.unmatched, 1);
}

// The symbol is that of an earlier message with the same stock locate.
TEST_F(ItchFileTest, AnUnknownOrderHasWhatItsMessageHas) {
  EXPECT_THAT(
      Read({Head('E').Big(10, 8).Big(100, 4).Big(77, 8).bytes(),
            Head('N').Text("IBM", 8).Text("A", 1).bytes(),
            Head('U').Big(10, 8).Big(11, 8).Big(300, 4).Big(20'000, 4).bytes(),
            Head('D').Big(11, 8).bytes()}),
      ElementsAre("order seq=1 action=E size=100 id=10 trade=77",
                  "trade seq=1 size=100 cond=E id=77", "status sym=IBM seq=2 kind=retail state=A",
                  "order sym=IBM seq=3 action=U price=2 size=300 id=11 old=10",
                  "order sym=IBM seq=4 action=D price=2 size=300 id=11"));
  EXPECT_EQ(counts_.unmatched, 2);
}

TEST_F(ItchFileTest, TheStartOfMessagesForgetsOrdersAndSymbols) {
  EXPECT_THAT(
      Read({Added(10, 'S', 100, 10'000), Head('S', 0).Text("O", 1).bytes(),
            Head('D').Big(10, 8).bytes()}),
      ElementsAre(testing::_, "status seq=2 kind=system state=O", "order seq=3 action=D id=10"));
}

TEST_F(ItchFileTest, DecodesTradesCrossesAndBreaks) {
  EXPECT_THAT(
      Read(
          {Head('P').Big(0, 8).Text("B", 1).Big(5, 4).Text("A", 8).Big(12'345, 4).Big(1, 8).bytes(),
           Head('Q')
               .Big(5'000'000'000, 8)
               .Text("A", 8)
               .Big(70'000, 4)
               .Big(2, 8)
               .Text("O", 1)
               .bytes(),
           Head('B').Big(2, 8).bytes()}),
      ElementsAre("trade sym=A seq=1 price=1.2345 size=5 side=B cond=P id=1",
                  "trade sym=A seq=2 price=7 size=5000000000 cond=QO id=2",
                  "trade_break sym=A seq=3 id=2"));
}

TEST_F(ItchFileTest, DecodesTheDirectoryAndStatuses) {
  const std::string directory = Head('R')
                                    .Text("SPY", 8)
                                    .Text("P", 1)
                                    .Text("N", 1)
                                    .Big(100, 4)
                                    .Text("Y", 1)
                                    .Text("Q", 1)
                                    .Text("E", 2)
                                    .Text("T", 1)
                                    .Text("N", 1)
                                    .Text("", 1)
                                    .Text("1", 1)
                                    .Text("Y", 1)
                                    .Big(3, 4)
                                    .Text("N", 1)
                                    .bytes();
  EXPECT_THAT(
      Read({directory, Head('H').Text("SPY", 8).Text("H", 1).Text("", 1).Text("T1", 4).bytes(),
            Head('Y').Text("SPY", 8).Text("1", 1).bytes(),
            Head('L').Text("ARCA", 4).Text("SPY", 8).Text("Y", 1).Text("N", 1).Text("A", 1).bytes(),
            Head('h').Text("SPY", 8).Text("Q", 1).Text("H", 1).bytes(),
            Head('W', 0).Text("2", 1).bytes(),
            Head('V', 0).Big(300'000'000'001, 8).Big(2, 8).Big(3, 8).bytes(),
            Head('K').Text("SPY", 8).Big(36'000, 4).Text("A", 1).Big(150'000, 4).bytes()}),
      ElementsAre("instrument sym=SPY seq=1 id=7 kind=QE market=P lot=100 luld=1 leverage=3 test "
                  "flags=NYTN YN",
                  "status sym=SPY seq=2 kind=trading state=H reason=T1",
                  "status sym=SPY seq=3 kind=short_sale state=1",
                  "status sym=SPY seq=4 kind=participant state=A reason=YN mpid=ARCA",
                  "status sym=SPY seq=5 kind=operational state=H reason=Q",
                  "status seq=6 kind=breaker_breach state=2",
                  "status seq=7 kind=breaker_level state=1 price=3000.00000001",
                  "status seq=7 kind=breaker_level state=2 price=2e-08",
                  "status seq=7 kind=breaker_level state=3 price=3e-08",
                  "status sym=SPY seq=8 kind=ipo state=A price=15 at=36000000000000"));
}

TEST_F(ItchFileTest, DecodesAuctions) {
  EXPECT_THAT(
      Read({Head('I')
                .Big(100, 8)
                .Big(200, 8)
                .Text("S", 1)
                .Text("A", 8)
                .Big(10'000, 4)
                .Big(20'000, 4)
                .Big(30'000, 4)
                .Text("O", 1)
                .Text("L", 1)
                .bytes(),
            Head('J').Text("A", 8).Big(10'000, 4).Big(11'000, 4).Big(9'000, 4).Big(1, 4).bytes(),
            Head('O')
                .Text("A", 8)
                .Text("Y", 1)
                .Big(10'000, 4)
                .Big(20'000, 4)
                .Big(15'000, 4)
                .Big(kTime + 1, 8)
                .Big(14'000, 4)
                .Big(16'000, 4)
                .bytes()}),
      ElementsAre("auction sym=A seq=1 kind=O side=S paired=100 imbalance=200 ref=3 indicative=2 "
                  "book=1 cond=L",
                  "auction sym=A seq=2 kind=collar collar=1 low=0.9 high=1.1 extensions=1",
                  "auction sym=A seq=3 kind=listing state=Y indicative=1.5 low=1.4 high=1.6 min=1 "
                  "max=2 at=34200000000002"));
}

TEST_F(ItchFileTest, PassesOverUnknownTypesAndLongerMessages) {
  EXPECT_THAT(Read({"?12345", Head('N').Text("IBM", 8).Text("A", 1).Text("later", 5).bytes()}),
              ElementsAre("status sym=IBM seq=2 kind=retail state=A"));
  EXPECT_EQ(counts_.unknown['?'], 1);
  EXPECT_EQ(counts_.problems, 0);
}

TEST_F(ItchFileTest, AMessageThatDoesNotFitIsCountedWithItsPlace) {
  const std::string good = Head('D').Big(10, 8).bytes();
  const std::vector<std::pair<std::string, std::string>> cases = {
      {good.substr(0, 18), "it is shorter than its type"},
      {good.substr(0, 3), "it is shorter than its type"},
      {Added(1, 'Z', 1, 1), "its side is neither B nor S"},
      {Head('D', 7, 86'400'000'000'000).Big(10, 8).bytes(), "its time is after the end of the day"},
      {Head('N').Text("IB\x01", 8).Text("A", 1).bytes(), "its stock is not ASCII"},
      {Head('C').Big(10, 8).Big(50, 4).Big(78, 8).Text("?", 1).Big(1, 4).bytes(),
       "it is neither printable nor not"},
      {Head('Q').Big(~0ull, 8).Text("A", 8).Big(1, 4).Big(2, 8).Text("O", 1).bytes(),
       "its shares exceed a long"},
  };
  for (const auto& [message, why] : cases) {
    EXPECT_THAT(Read({good, message, good}),
                ElementsAre("order seq=1 action=D id=10", "order seq=3 action=D id=10"));
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_EQ(counts_.problems, 1);
    EXPECT_EQ(counts_.last_problem,
              fmt::format("{}: byte 21: message 2 of type {:#04x} and {} bytes: {}", path_.string(),
                          static_cast<unsigned>(message[0]), message.size(), why));
  }
}

// Whole messages before the place are events; then comes the error.
TEST_F(ItchFileTest, AFileThatIsCutOffAnywhereIsAnError) {
  const std::string file = Framed({Head('D').Big(10, 8).bytes(), Head('D').Big(11, 8).bytes()});
  for (size_t bytes = 0; bytes < file.size(); ++bytes) {
    const size_t whole = bytes / 21;
    EXPECT_EQ(ReadBytes(file.substr(0, bytes)).size(), whole);
    if (bytes % 21 == 0) {
      EXPECT_TRUE(status_.ok()) << status_;
      continue;
    }
    EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
    EXPECT_THAT(std::string(Message(status_)),
                HasSubstr(fmt::format("{}: byte {}: the file is cut off within", path_.string(),
                                      whole * 21)));
  }
}

TEST_F(ItchFileTest, OnlyPaddingFollowsTheEndOfTheSession) {
  const std::string file = Framed({Head('D').Big(10, 8).bytes()}) + std::string(2, '\0');
  EXPECT_EQ(ReadBytes(file).size(), 1);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(ReadBytes(file + std::string(3, '\0')).size(), 1);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(ReadBytes(file + std::string("\0x", 2)).size(), 1);
  EXPECT_THAT(std::string(Message(status_)), HasSubstr("byte 24: expected the end of the file"));
}

TEST_F(ItchFileTest, ReadsTheFirstThousandMessagesOfADay) {
  TS_REQUIRE_FIXTURE(path, "itch/length-prefixed/first1000.itch");
  const std::vector<std::string> events = ReadPath(path);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.decoded['S'], 1);
  EXPECT_EQ(counts_.decoded['R'], 993);
  EXPECT_EQ(counts_.decoded['H'], 3);
  EXPECT_EQ(counts_.decoded['Y'], 3);
  EXPECT_EQ(events.size(), 1'000);
}

// In winter New York is 5 hours behind UTC, in summer 4.
TEST(MidnightNs, FollowsTheTimeZone) {
  const int64_t winter_ns = DaysFromCivil(2019, 12, 30) * kNsPerDay;
  EXPECT_EQ(MidnightNs("2019.12.30", "America/New_York").value(),
            winter_ns + 5 * 3600 * kNsPerSecond);
  const int64_t summer_ns = DaysFromCivil(2020, 7, 1) * kNsPerDay;
  EXPECT_EQ(MidnightNs("2020.07.01", "America/New_York").value(),
            summer_ns + 4 * 3600 * kNsPerSecond);
  EXPECT_EQ(MidnightNs("2020.07.01", "UTC").value(), summer_ns);
  EXPECT_EQ(MidnightNs("", "UTC").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MidnightNs("30 December", "UTC").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(MidnightNs("2019.12.30", "Mars").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace tickstack::feed::market
