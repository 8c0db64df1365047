#include "feed/market/dbn/dbn_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/status.h"
#include "feed/market/dbn/dbn_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint8_t kVersions[] = {1, 2, 3};
constexpr uint64_t kNoDbnPrice = (1ull << 63) - 1, kNone4 = (1ull << 32) - 1;
constexpr std::string_view kHead = " time=1 sym=7 seq=9 recv=2 channel=GLBX.MDP3 venue=GLBX";

// The fields of prices from the price to the sequence number 9, received at 2 ns.
MessageBytes Event(char action, char side, uint64_t price = 1'500'000'000, uint64_t size = 4) {
  return MessageBytes()
      .Little(price, 8)
      .Little(size, 4)
      .Text({&action, 1}, 1)
      .Text({&side, 1}, 1)
      .Little(0xC0, 1)
      .Little(0, 1)
      .Little(DbnUnixNs(2), 8)
      .Little(0, 4)
      .Little(9, 4);
}
// A level of the book, with prices in whole units.
std::string Levels(uint64_t bid, uint64_t ask, uint32_t bid_size, uint32_t ask_size) {
  return MessageBytes()
      .Little(bid == kNoDbnPrice ? bid : bid * 1'000'000'000, 8)
      .Little(ask == kNoDbnPrice ? ask : ask * 1'000'000'000, 8)
      .Little(bid_size, 4)
      .Little(ask_size, 4)
      .Little(11, 4)
      .Little(12, 4)
      .bytes();
}

// Writes files, and reads their events as texts.
class DbnFileTest : public testing::Test {
 protected:
  DbnFileTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_dbn_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~DbnFileTest() override { fs::remove(path_); }

  std::vector<std::string> ReadBytes(const std::string& bytes) {
    fs::remove(path_);  // Some file systems flush a file that is written again.
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadPath(path_);
  }
  std::vector<std::string> Read(uint8_t version, const std::vector<std::string>& records,
                                const std::vector<DbnMappingBytes>& mappings = {}) {
    std::string bytes = DbnHeader(version, mappings);
    for (const std::string& record : records) bytes += record;
    return ReadBytes(bytes);
  }
  std::vector<std::string> ReadPath(const fs::path& path) {
    EventTexts events;
    counts_ = {};
    const absl::StatusOr<std::unique_ptr<DbnFile>> file = DbnFile::Open(path);
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
  // The events of a record, without what their heads have in common.
  std::vector<std::string> ReadOne(uint8_t version, const std::string& record,
                                   std::string_view head = kHead) {
    std::vector<std::string> texts = Read(version, {record});
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_EQ(counts_.last_problem, "");
    for (std::string& text : texts) {
      const size_t at = text.find(head);
      EXPECT_NE(at, std::string::npos) << text;
      if (at != std::string::npos) text.erase(at, head.size());
    }
    return texts;
  }
  std::string Error() const { return std::string(Message(status_)); }

  fs::path path_;
  absl::Status status_;
  MessageCounts counts_;
};

TEST_F(DbnFileTest, OrdersHaveTheActionsOfTheTable) {
  constexpr std::string_view kHeadOfOrder =
      " time=1 sym=7 seq=9 recv=2 channel=GLBX.MDP3 3 venue=GLBX";
  const auto read = [&](char action, char side) {
    return ReadOne(3, DbnOrderBytes(action, side, 4'500'250'000'000, 12), kHeadOfOrder);
  };
  EXPECT_THAT(read('A', 'B'),
              ElementsAre("order action=A side=B price=4500.25 size=12 id=5 cond=82"));
  EXPECT_THAT(read('C', 'A'),
              ElementsAre("order action=X side=S price=4500.25 size=12 id=5 cond=82"));
  EXPECT_THAT(read('M', 'N'), ElementsAre("order action=M price=4500.25 size=12 id=5 cond=82"));
  EXPECT_THAT(read('F', 'A'),
              ElementsAre("order action=F side=S price=4500.25 size=12 id=5 cond=82"));
  EXPECT_THAT(read('R', 'N'), ElementsAre("order action=R cond=82"));
  EXPECT_THAT(read('T', 'A'), ElementsAre("trade price=4500.25 size=12 side=S cond=82"));
  EXPECT_THAT(read('N', 'N'), IsEmpty());
  EXPECT_EQ(counts_.decoded[0xA0], 1);
}

TEST_F(DbnFileTest, PricesAndTradesAreQuotesAndTrades) {
  EXPECT_THAT(ReadOne(1, DbnRecordBytes(0x00, Event('T', 'B').bytes())),
              ElementsAre("trade price=1.5 size=4 side=B cond=c0"));
  const std::string level = Levels(9, 10, 1, 2);
  EXPECT_THAT(ReadOne(1, DbnRecordBytes(0x01, Event('A', 'B').bytes() + level)),
              ElementsAre("quote bid=9 ask=10 bsize=1 asize=2 cond=c0"));
  EXPECT_THAT(ReadOne(1, DbnRecordBytes(0x01, Event('T', 'A').bytes() + level)),
              ElementsAre("quote bid=9 ask=10 bsize=1 asize=2 cond=c0",
                          "trade price=1.5 size=4 side=S cond=c0"));
  for (const uint8_t type : std::to_array<uint8_t>({0xC3, 0xC4})) {
    EXPECT_THAT(ReadOne(2, DbnRecordBytes(type, Event('\0', 'A').bytes() + level)),
                ElementsAre("quote bid=9 ask=10 bsize=1 asize=2 cond=c0"));
  }
}

TEST_F(DbnFileTest, UndefinedValuesAreNull) {
  EXPECT_THAT(ReadOne(1, DbnRecordBytes(0x01, Event('T', 'N', kNoDbnPrice, kNone4).bytes() +
                                                  Levels(kNoDbnPrice, 10, 0, 2))),
              ElementsAre("quote ask=10 bsize=0 asize=2 cond=c0", "trade cond=c0"));
  std::string order = DbnOrderBytes('A', 'B', static_cast<int64_t>(kNoDbnPrice), ~0u);
  order.replace(37, 1, "\xff");
  order.replace(8, 8, 8, '\xff');
  EXPECT_THAT(Read(1, {order}),
              ElementsAre("order time=2 sym=7 seq=9 recv=2 channel=GLBX.MDP3 venue=GLBX action=A "
                          "side=B id=5 cond=82"));
  order.replace(40, 8, 8, '\xff');
  EXPECT_THAT(Read(1, {order}),
              ElementsAre("order sym=7 seq=9 channel=GLBX.MDP3 venue=GLBX action=A side=B id=5 "
                          "cond=82"));
}

// The number of a publisher stands for one that is not known, and 0 for none.
TEST_F(DbnFileTest, ConsolidatedQuotesHaveTheVenues) {
  const auto best = [](uint16_t bid, uint16_t ask) {
    return MessageBytes()
        .Little(9'000'000'000, 8)
        .Little(10'000'000'000, 8)
        .Little(1, 4)
        .Little(2, 4)
        .Little(bid, 4)
        .Little(ask, 4)
        .bytes();
  };
  constexpr std::string_view kHeadOfBest =
      " time=1 sym=7 seq=1 recv=2 channel=GLBX.MDP3 venue=GLBX";
  for (const uint8_t type : std::to_array<uint8_t>({0xB1, 0xC2})) {
    EXPECT_THAT(
        ReadOne(3, DbnRecordBytes(type, Event('T', 'B').bytes() + best(22, 65'000)), kHeadOfBest),
        ElementsAre("quote bid=9 ask=10 bsize=1 asize=2 cond=c0 bid_venue=XCBO "
                    "ask_venue=65000",
                    "trade price=1.5 size=4 side=B cond=c0"));
  }
  for (const uint8_t type : std::to_array<uint8_t>({0xC0, 0xC1})) {
    EXPECT_THAT(
        ReadOne(3, DbnRecordBytes(type, Event('\0', 'N').bytes() + best(0, 35)), kHeadOfBest),
        ElementsAre("quote bid=9 ask=10 bsize=1 asize=2 cond=c0 ask_venue=XPHL"));
  }
}

TEST_F(DbnFileTest, LevelsAreTheChangesOfABook) {
  const auto book = [](const std::vector<std::string>& levels) {
    std::string body = Event('A', 'B').bytes();
    for (size_t i = 0; i < 10; ++i) {
      body += i < levels.size() ? levels[i] : Levels(kNoDbnPrice, kNoDbnPrice, 0, 0);
    }
    return DbnRecordBytes(0x0A, body);
  };
  std::vector<std::string> texts =
      Read(2, {book({Levels(9, 10, 1, 2), Levels(8, kNoDbnPrice, 3, 0)}),
               book({Levels(9, 10, 1, 5), Levels(7, kNoDbnPrice, 4, 0)}),
               book({Levels(9, 10, 1, 5), Levels(7, kNoDbnPrice, 4, 0)}), book({})});
  std::erase_if(texts, [](const std::string& text) { return text.starts_with("quote"); });
  for (std::string& text : texts) text.erase(5, kHead.size());
  EXPECT_THAT(texts, ElementsAre("level side=B price=9 size=1 orders=11 incomplete cond=c0",
                                 "level side=B price=8 size=3 orders=11 incomplete cond=c0",
                                 "level side=S price=10 size=2 orders=12 cond=c0",
                                 "level side=B price=8 size=0 orders=0 incomplete cond=c0",
                                 "level side=B price=7 size=4 orders=11 incomplete cond=c0",
                                 "level side=S price=10 size=5 orders=12 cond=c0",
                                 "level side=B price=9 size=0 orders=0 incomplete cond=c0",
                                 "level side=B price=7 size=0 orders=0 incomplete cond=c0",
                                 "level side=S price=10 size=0 orders=0 cond=c0"));
}

TEST_F(DbnFileTest, BarsHaveTheirInterval) {
  constexpr std::string_view kHeadOfBar = " time=1 sym=7 seq=1 channel=GLBX.MDP3 venue=GLBX";
  const std::string body = MessageBytes()
                               .Little(2'000'000'000, 8)
                               .Little(4'000'000'000, 8)
                               .Little(1'000'000'000, 8)
                               .Little(3'000'000'000, 8)
                               .Little(77, 8)
                               .bytes();
  for (const auto& [type, interval] :
       std::vector<std::pair<uint8_t, std::string>>{{0x11, ""},
                                                    {0x20, " interval=1s"},
                                                    {0x21, " interval=1m"},
                                                    {0x22, " interval=1h"},
                                                    {0x23, " interval=1d"},
                                                    {0x24, " interval=eod"}}) {
    EXPECT_THAT(ReadOne(1, DbnRecordBytes(type, body), kHeadOfBar),
                ElementsAre(fmt::format("bar{} open=2 high=4 low=1 close=3 volume=77", interval)));
  }
}

TEST_F(DbnFileTest, AStatusHasARowForEachOfItsParts) {
  const auto status = [&](uint16_t action, uint16_t event, std::string_view answers) {
    const std::string body = MessageBytes()
                                 .Little(DbnUnixNs(2), 8)
                                 .Little(action, 2)
                                 .Little(30, 2)
                                 .Little(event, 2)
                                 .Text(answers, 3)
                                 .Little(0, 7)
                                 .bytes();
    return ReadOne(3, DbnRecordBytes(0x12, body),
                   " time=1 sym=7 seq=1 recv=2 channel=GLBX.MDP3 venue=GLBX");
  };
  EXPECT_THAT(status(8, 0, "~~~"), ElementsAre("status kind=trading state=halt reason=30"));
  EXPECT_THAT(status(15, 2, "YNY"),
              ElementsAre("status kind=trading state=not_available reason=30",
                          "status kind=trading_event state=2", "status kind=is_trading state=Y",
                          "status kind=is_quoting state=N", "status kind=short_sale state=Y"));
  EXPECT_THAT(status(16, 0, "~~~"), ElementsAre("status kind=trading state=16 reason=30"));
}

TEST_F(DbnFileTest, ImbalancesAreAuctions) {
  const auto imbalance = [&](uint64_t clearing) {
    const std::string body = MessageBytes()
                                 .Little(DbnUnixNs(2), 8)
                                 .Little(1'000'000'000, 8)
                                 .Little(DbnUnixNs(3), 8)
                                 .Little(clearing, 8)
                                 .Little(3'000'000'000, 8)
                                 .Little(4'000'000'000, 8)
                                 .Little(5'000'000'000, 8)
                                 .Little(6'000'000'000, 8)
                                 .Little(7'000'000'000, 8)
                                 .Little(100, 4)
                                 .Little(kNone4, 4)
                                 .Little(0, 8)
                                 .Text("OA", 2)
                                 .Little(2, 1)
                                 .Little(0, 1)
                                 .Little(3, 1)
                                 .Text("NL", 2)
                                 .Little(0, 1)
                                 .bytes();
    return ReadOne(2, DbnRecordBytes(0x14, body),
                   " time=1 sym=7 seq=1 recv=2 channel=GLBX.MDP3 venue=GLBX");
  };
  EXPECT_THAT(
      imbalance(2'000'000'000),
      ElementsAre("auction kind=O state=2 side=S paired=100 ref=1 indicative=2 book=3 low=7 "
                  "high=6 at=3 extensions=3 cond=L"));
  EXPECT_THAT(imbalance(kNoDbnPrice), ElementsAre(HasSubstr(" indicative=5 ")));
}

// The quantity has 4 bytes up to version 2, and 8 from version 3 on.
TEST_F(DbnFileTest, StatisticsOfAllVersions) {
  const auto statistic = [&](uint8_t version, uint64_t quantity, uint16_t kind, uint8_t update) {
    const size_t bytes = version < 3 ? 4 : 8;
    const std::string body = MessageBytes()
                                 .Little(DbnUnixNs(2), 8)
                                 .Little(DbnUnixNs(3), 8)
                                 .Little(1'500'000'000, 8)
                                 .Little(quantity, bytes)
                                 .Little(9, 4)
                                 .Little(0, 4)
                                 .Little(kind, 2)
                                 .Little(3, 2)
                                 .Little(update, 1)
                                 .Little(1, 1)
                                 .Little(0, version < 3 ? 6 : 18)
                                 .bytes();
    return ReadOne(version, DbnRecordBytes(0x18, body),
                   " time=1 sym=7 seq=9 recv=2 channel=GLBX.MDP3 3 venue=GLBX");
  };
  for (const uint8_t version : kVersions) {
    EXPECT_THAT(statistic(version, 8, 3, 1),
                ElementsAre("statistic kind=settlement price=1.5 size=8 at=3 action=A cond=01"));
  }
  EXPECT_THAT(statistic(2, (1u << 31) - 1, 10'001, 2),
              ElementsAre("statistic kind=10001 price=1.5 at=3 action=D cond=01"));
  EXPECT_THAT(statistic(3, kNoDbnPrice, 19, 3),
              ElementsAre("statistic kind=block_volume price=1.5 at=3 cond=01"));
  EXPECT_THAT(statistic(3, 5'000'000'000, 0, 1),
              ElementsAre(HasSubstr("kind=0 price=1.5 size=5000000000")));
}

TEST_F(DbnFileTest, RecordsOfLiveDataMapSymbolsAndSayWhatHappened) {
  const std::string mapped_1 =
      DbnRecordBytes(0x16, DbnText("ES.c.0", 22) + DbnText("ESH4", 22) + std::string(20, '\0'));
  const std::string mapped_2 =
      DbnRecordBytes(0x16, DbnText("\1ES.c.0", 72) + DbnText("\1ESH4", 72) + std::string(16, '\0'));
  const std::string order = DbnOrderBytes('R', 'N', 0, 0);
  const std::string_view after = " seq=9 recv=2 channel=GLBX.MDP3 3 venue=GLBX action=R cond=82";
  for (const auto& [version, mapped] :
       std::vector<std::pair<uint8_t, std::string>>{{1, mapped_1}, {2, mapped_2}, {3, mapped_2}}) {
    std::string unnamed = mapped;
    unnamed.replace(16, std::string::npos, mapped.size() - 16, '\0');
    EXPECT_THAT(Read(version, {order, mapped, unnamed, order}, {{.name = "HEADER", .other = "7"}}),
                ElementsAre(fmt::format("order time=1 sym=HEADER{}", after),
                            fmt::format("order time=1 sym=ESH4{}", after)));
  }
  EXPECT_THAT(
      Read(1, {DbnRecordBytes(0x17, DbnText("Heartbeat", 64)),
               DbnRecordBytes(0x17, DbnText("End of interval", 64)),
               DbnRecordBytes(0x15, DbnText("Slow client", 64))}),
      ElementsAre(
          "status time=1 seq=2 channel=GLBX.MDP3 venue=GLBX kind=system reason=End of interval",
          "status time=1 seq=3 channel=GLBX.MDP3 venue=GLBX kind=error reason=Slow client"));
  EXPECT_EQ(counts_.heartbeats, 1);
  EXPECT_THAT(Read(3, {DbnRecordBytes(0x17, DbnText("any", 303) + std::string(1, '\0')),
                       DbnRecordBytes(0x17, DbnText("End of interval", 303) + "\4"),
                       DbnRecordBytes(0x15, DbnText("Slow client", 302) + "\7\1")}),
              ElementsAre(HasSubstr("kind=system state=4 reason=End of interval"),
                          HasSubstr("kind=error state=7 reason=Slow client")));
  EXPECT_EQ(counts_.heartbeats, 1);
}

// The fields of definitions are compared with an independent decoder by
// tests/e2e/dbn_feed_test.py.
TEST_F(DbnFileTest, ADefinitionNamesItsInstrumentFromThereOn) {
  constexpr size_t kBytes[] = {360, 400, 520}, kSymbols[] = {200, 200, 238}, kLegIndex = 222;
  const std::string order = DbnOrderBytes('R', 'N', 0, 0);
  for (const uint8_t version : kVersions) {
    std::string record =
        DbnRecordBytes(0x13, std::string(kBytes[version - 1] - DbnDecoder::kHeadBytes, '\0'));
    record.replace(kSymbols[version - 1], 4, "ESH4");
    EXPECT_THAT(
        Read(version, {order, record, order}),
        ElementsAre(HasSubstr(" sym=7 "), HasSubstr(" sym=ESH4 seq=2 "), HasSubstr(" sym=ESH4 ")));
    if (version < 3) continue;
    record[kLegIndex] = 1;
    EXPECT_THAT(Read(version, {record}), IsEmpty());
    EXPECT_EQ(counts_.decoded[0x13], 1);
  }
}

TEST_F(DbnFileTest, TheHeaderMapsSymbolsToNumbersOrFromThem) {
  const std::string order = DbnOrderBytes('R', 'N', 0, 0);
  for (const uint8_t version : kVersions) {
    EXPECT_THAT(Read(version, {order}, {{.name = "ESH4", .other = "7"}}),
                ElementsAre(HasSubstr(" sym=ESH4 ")));
    EXPECT_THAT(ReadBytes(DbnHeader(version, {{.name = "7", .other = "ESM4"}}, true) + order),
                ElementsAre(HasSubstr(" sym=ESM4 ")));
    EXPECT_THAT(Read(version, {order}, {{.name = "ESH4", .other = ""}}),
                ElementsAre(HasSubstr(" sym=7 ")));
  }
}

TEST_F(DbnFileTest, LongerRecordsAndUnknownTypesAreNoProblem) {
  std::string longer = DbnOrderBytes('A', 'B', 1, 2) + std::string(8, 'x');
  longer[0] = 16;
  EXPECT_THAT(Read(1, {DbnRecordBytes(0x77, ""), longer, DbnRecordBytes(0x77, "1234")}),
              ElementsAre(HasSubstr("size=2 ")));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.unknown[0x77], 2);
  EXPECT_EQ(counts_.problems, 0);
}

TEST_F(DbnFileTest, ARecordThatDoesNotFitIsCountedWithItsPlace) {
  const std::string good = DbnOrderBytes('R', 'N', 0, 0);
  const auto changed = [&](size_t at, char to) {
    std::string record = DbnOrderBytes('A', 'B', 1, 2);
    record[at] = to;
    return record;
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {std::string("\2\xA0\0\0\0\0\0\0", 8), "it is shorter than the head of a record"},
      {std::string("\xD\xA0", 2) + good.substr(2, 50), "it is shorter than its type"},
      {changed(38, '?'), "its action is not A, C, F, M, N, R or T"},
      {changed(39, '?'), "its side is not A, B or N"},
      {changed(15, '\x80'), "a time of it is after 2262"},
      {changed(47, '\x80'), "a time of it is after 2262"},
      {DbnRecordBytes(0x00, Event('A', 'B').bytes()), "its action is not T"},
      {DbnRecordBytes(0x20, std::string(40, '\x88')), "its volume exceeds a long"},
      {DbnRecordBytes(0x16, DbnText("A", 22) + DbnText("\x80", 22) + std::string(20, '\0')),
       "a text of it is not ASCII"},
  };
  for (const auto& [record, why] : cases) {
    EXPECT_EQ(Read(1, {good, record, good}).size(), 2) << why;
    EXPECT_TRUE(status_.ok()) << status_;
    EXPECT_EQ(counts_.problems, 1);
    EXPECT_EQ(counts_.last_problem,
              fmt::format("{}: byte {}: record 2 of type {:#04x} and {} bytes: {}", path_.string(),
                          DbnHeader(1).size() + good.size(), static_cast<uint8_t>(record[1]),
                          record.size(), why));
  }
}

TEST_F(DbnFileTest, ALengthOf0EndsTheFileWithAnError) {
  const std::string order = DbnOrderBytes('R', 'N', 0, 0);
  EXPECT_EQ(Read(1, {order, std::string(8, '\0')}).size(), 1);
  EXPECT_EQ(Error(), fmt::format("{}: byte {}: record 2 has length 0", path_.string(),
                                 DbnHeader(1).size() + order.size()));
}

// Whole records before the place are events; then comes the error.
TEST_F(DbnFileTest, AFileThatIsCutOffAnywhereIsAnError) {
  for (const uint8_t version : kVersions) {
    const std::string header = DbnHeader(version, {{.name = "ESH4", .other = "7"}});
    const std::string record = DbnOrderBytes('A', 'B', 1, 2);
    const std::string file = header + record + record;
    for (size_t bytes = 0; bytes < file.size(); ++bytes) {
      const size_t whole = bytes < header.size() ? 0 : (bytes - header.size()) / record.size();
      EXPECT_EQ(ReadBytes(file.substr(0, bytes)).size(), whole);
      if (bytes == header.size() + whole * record.size()) {
        EXPECT_TRUE(status_.ok()) << status_;
        continue;
      }
      EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
      EXPECT_THAT(Error(), HasSubstr(": the file is cut off within "));
    }
  }
}

TEST_F(DbnFileTest, RefusesOtherFilesByName) {
  EXPECT_THAT(ReadBytes(""), IsEmpty());
  EXPECT_THAT(Error(), HasSubstr("byte 0: the file is cut off within its header"));
  ReadBytes("time,sym,price\n1,2,3\n");
  EXPECT_THAT(Error(), HasSubstr("byte 0: expected DBN, found another format"));
  ReadBytes(DbnOrderBytes('A', 'B', 1, 2));
  EXPECT_THAT(Error(), HasSubstr("expected DBN, found records without a header (a fragment)"));
  for (const char version : {'\0', '\4'}) {
    std::string file = DbnHeader(3);
    file[3] = version;
    ReadBytes(file);
    EXPECT_THAT(Error(), HasSubstr(fmt::format("byte 3: expected DBN version 1 to 3, found {}",
                                               static_cast<int>(version))));
  }
}

TEST_F(DbnFileTest, AHeaderThatDoesNotFitIsAnError) {
  const std::string name = path_.string();
  std::string file = DbnHeader(1);
  file.replace(4, 4, "\0\0\0\x7f", 4);
  ReadBytes(file);
  EXPECT_THAT(Error(), HasSubstr("expected a header of at most 536870912 bytes, found 2130706432"));
  file = DbnHeader(1);
  file[4] = static_cast<char>(file[4] - 1);
  ReadBytes(file);
  EXPECT_EQ(Error(), fmt::format("{}: byte {}: the length of the header ends within its mappings",
                                 name, DbnHeader(1).size() - 4));
  file = DbnHeader(3);
  file[8 + 45] = 21;
  ReadBytes(file);
  EXPECT_THAT(Error(), HasSubstr("expected symbols of at least 22 bytes, found 21"));
  file = DbnHeader(3);
  file[8] = '\n';
  ReadBytes(file);
  EXPECT_THAT(Error(), HasSubstr("a text of its fixed fields is not ASCII"));
  Read(3, {}, {{.name = "ESH4", .other = "seven"}});
  EXPECT_THAT(Error(),
              HasSubstr("expected the number of an instrument in its mappings, found 'seven'"));
  Read(3, {}, {{.name = "ESH4", .begin = 20'230'229, .other = "7"}});
  EXPECT_THAT(Error(),
              HasSubstr("expected a day such as 20240131 in its mappings, found 20230229"));
  // A list that claims more symbols than there are bytes.
  file = DbnHeader(2);
  file.replace(8 + 104, 4, 4, '\xff');
  ReadBytes(file);
  EXPECT_THAT(Error(), HasSubstr("the length of the header ends within its symbols"));
}

TEST(DbnPrice, IsTheNearestDouble) {
  std::mt19937_64 random(1);
  std::vector<int64_t> prices = {0,
                                 1,
                                 -1,
                                 1'000'000'000,
                                 (int64_t{1} << 53) - 1,
                                 int64_t{1} << 53,
                                 (int64_t{1} << 53) + 1,
                                 std::numeric_limits<int64_t>::max() - 1,
                                 std::numeric_limits<int64_t>::min()};
  for (int i = 0; i < 100'000; ++i)
    prices.push_back(static_cast<int64_t>(random()) >> random() % 60);
  for (const int64_t units : prices) {
    const std::string text = fmt::format("{}e-9", units);
    EXPECT_EQ(DbnPriceOf(units), std::strtod(text.c_str(), nullptr)) << text;
  }
  EXPECT_EQ(std::bit_cast<uint64_t>(DbnPriceOf(std::numeric_limits<int64_t>::max())),
            kNullFloatBits);
}

}  // namespace
}  // namespace tickstack::feed::market
