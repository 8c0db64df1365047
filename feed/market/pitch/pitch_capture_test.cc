#include "feed/market/pitch/pitch_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/capture_testing.h"
#include "feed/market/exchange_day.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kCaptureNs = kUnixNsOfKdbEpoch;  // When packets are received: at 0.

// A message without its length.
MessageBytes Pitch(uint8_t type, uint32_t offset_ns = 5) {
  return MessageBytes().Little(type, 1).Little(offset_ns, 4);
}
std::string PitchTime(uint32_t seconds) {
  return MessageBytes().Little(0x20, 1).Little(seconds, 4).bytes();
}
std::string PitchAdd(uint64_t id, char side, uint16_t shares, uint16_t price) {
  return Pitch(0x22)
      .Little(id, 8)
      .Text(std::string(1, side), 1)
      .Little(shares, 2)
      .Text("SPY", 6)
      .Little(price, 2)
      .Little(1, 1)
      .bytes();
}
std::string PitchDelete(uint64_t id) { return Pitch(0x29).Little(id, 8).bytes(); }

std::string Unit(uint32_t seq, const std::vector<std::string>& messages, uint8_t unit = 3) {
  std::string body;
  for (const std::string& message : messages) {
    body += MessageBytes().Little(message.size() + 1, 1).bytes() + message;
  }
  return MessageBytes()
             .Little(body.size() + 8, 2)
             .Little(messages.size(), 1)
             .Little(unit, 1)
             .Little(seq, 4)
             .bytes() +
         body;
}

// Writes captures, and reads their events as texts without channel and time of receipt.
class PitchCaptureTest : public testing::Test {
 protected:
  PitchCaptureTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_pitch_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~PitchCaptureTest() override { fs::remove(path_); }

  std::vector<std::string> Read(const CaptureBytes& capture) {
    std::ofstream(path_, std::ios::binary) << capture.bytes();
    std::vector<std::string> texts = ReadPath(path_);
    for (std::string& text : texts) {
      for (const std::string part : {" recv=0", " channel=3"}) {
        if (const size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
      }
    }
    return texts;
  }
  std::vector<std::string> ReadPath(const fs::path& path, int64_t midnight_ns = 0) {
    EventTexts events;
    absl::StatusOr<std::unique_ptr<PitchCapture>> file =
        PitchCapture::Open(path, midnight_ns, market_);
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
  // Reads the messages of one packet.
  std::vector<std::string> Decode(const std::vector<std::string>& messages) {
    return Read(CaptureBytes().Udp(Unit(1, messages), kCaptureNs));
  }

  fs::path path_;
  absl::Status status_;
  MessageCounts counts_;
  PitchMarket market_ = PitchMarket::kEquities;
};

TEST_F(PitchCaptureTest, AnOrderIsCompleteInEachOfItsEvents) {
  EXPECT_THAT(
      Decode({PitchTime(2), PitchAdd(10, 'B', 500, 12'345),
              Pitch(0x23).Little(10, 8).Little(100, 4).Little(77, 8).bytes(),
              Pitch(0x25).Little(10, 8).Little(50, 4).bytes(),
              Pitch(0x26).Little(10, 8).Little(50, 2).bytes(),
              Pitch(0x27).Little(10, 8).Little(400, 4).Little(1'234'567, 8).Little(3, 1).bytes(),
              Pitch(0x28).Little(10, 8).Little(350, 2).Little(40'000, 2).Little(1, 1).bytes(),
              Pitch(0x24)
                  .Little(10, 8)
                  .Little(60, 4)
                  .Little(200, 4)
                  .Little(78, 8)
                  .Little(1'000'001, 8)
                  .bytes(),
              PitchDelete(10)}),
      ElementsAre("order time=2000000005 sym=SPY seq=2 action=A side=B price=123.45 size=500 "
                  "id=10 cond=01",
                  "order time=2000000005 sym=SPY seq=3 action=E side=B price=123.45 size=100 "
                  "id=10 trade=77",
                  "trade time=2000000005 sym=SPY seq=3 price=123.45 size=100 side=B cond=E id=77",
                  "order time=2000000005 sym=SPY seq=4 action=X side=B price=123.45 size=50 id=10",
                  "order time=2000000005 sym=SPY seq=5 action=X side=B price=123.45 size=50 id=10",
                  "order time=2000000005 sym=SPY seq=6 action=M side=B price=123.4567 size=400 "
                  "id=10 cond=03",
                  "order time=2000000005 sym=SPY seq=7 action=M side=B price=400 size=350 id=10 "
                  "cond=01",
                  "order time=2000000005 sym=SPY seq=8 action=E side=B price=100.0001 size=60 "
                  "id=10 trade=78",
                  "trade time=2000000005 sym=SPY seq=8 price=100.0001 size=60 side=B cond=C id=78",
                  "order time=2000000005 sym=SPY seq=9 action=D side=B price=400 size=200 id=10"));
  EXPECT_EQ(counts_.unmatched, 0);
  EXPECT_EQ(counts_.decoded[0x22], 1);
}

TEST_F(PitchCaptureTest, AnOrderEndsWhenNothingIsLeft) {
  const std::string at_price =
      Pitch(0x24).Little(11, 8).Little(1, 4).Little(0, 4).Little(78, 8).Little(10'000, 8).bytes();
  Decode({PitchAdd(10, 'B', 5, 100), Pitch(0x23).Little(10, 8).Little(5, 4).Little(7, 8).bytes(),
          PitchDelete(10), PitchAdd(11, 'B', 5, 100), at_price, PitchDelete(11)});
  EXPECT_EQ(counts_.unmatched, 2);
}

TEST_F(PitchCaptureTest, AnUnknownOrderHasWhatItsMessageHas) {
  EXPECT_THAT(
      Decode({Pitch(0x23).Little(10, 8).Little(100, 4).Little(77, 8).bytes(),
              Pitch(0x28).Little(10, 8).Little(9, 2).Little(100, 2).Little(0, 1).bytes(),
              PitchDelete(10), PitchDelete(10)}),
      ElementsAre("order seq=1 action=E size=100 id=10 trade=77",
                  "trade seq=1 size=100 cond=E id=77",
                  "order seq=2 action=M price=1 size=9 id=10 cond=00",
                  "order seq=3 action=D price=1 size=9 id=10", "order seq=4 action=D id=10"));
  EXPECT_EQ(counts_.unmatched, 3);
}

TEST_F(PitchCaptureTest, AUnitClearEndsTheOrdersOfItsUnit) {
  Read(CaptureBytes()
           .Udp(Unit(1, {PitchAdd(10, 'B', 5, 100)}), kCaptureNs)
           .Udp(Unit(1, {PitchAdd(11, 'B', 5, 100)}, 4), kCaptureNs)
           .Udp(Unit(2, {Pitch(0x97).bytes(), PitchDelete(10)}), kCaptureNs)
           .Udp(Unit(2, {PitchDelete(11)}, 4), kCaptureNs));
  EXPECT_EQ(counts_.unmatched, 1);
}

TEST_F(PitchCaptureTest, DecodesOrdersAndTradesOfOtherLengths) {
  const std::string expanded = Pitch(0x2f)
                                   .Little(11, 8)
                                   .Text("S", 1)
                                   .Little(7, 4)
                                   .Text("LONGNAME", 8)
                                   .Little(1'000'000, 8)
                                   .Little(1, 1)
                                   .Text("NITE", 4)
                                   .bytes();
  EXPECT_THAT(
      Decode({Pitch(0x21)
                  .Little(10, 8)
                  .Text("B", 1)
                  .Little(70'000, 4)
                  .Text("A", 6)
                  .Little(12'345, 8)
                  .Little(0, 1)
                  .bytes(),
              expanded, expanded + "R",
              Pitch(0x2a)
                  .Little(1, 8)
                  .Text("B", 1)
                  .Little(70'000, 4)
                  .Text("A", 6)
                  .Little(12'345, 8)
                  .Little(5, 8)
                  .bytes(),
              Pitch(0x2b)
                  .Little(1, 8)
                  .Text("S", 1)
                  .Little(7, 2)
                  .Text("A", 6)
                  .Little(60'000, 2)
                  .Little(6, 8)
                  .bytes(),
              Pitch(0x30)
                  .Little(1, 8)
                  .Text("B", 1)
                  .Little(7, 4)
                  .Text("LONGNAME", 8)
                  .Little(12'345, 8)
                  .Little(7, 8)
                  .bytes(),
              Pitch(0x2c).Little(7, 8).bytes()}),
      ElementsAre("order sym=A seq=1 action=A side=B price=1.2345 size=70000 id=10 cond=00",
                  "order sym=LONGNAME seq=2 action=A side=S price=100 size=7 id=11 cond=01 "
                  "mpid=NITE",
                  "order sym=LONGNAME seq=3 action=A side=S price=100 size=7 id=11 cond=01R "
                  "mpid=NITE",
                  "trade sym=A seq=4 price=1.2345 size=70000 side=B cond=P id=5",
                  "trade sym=A seq=5 price=600 size=7 side=S cond=P id=6",
                  "trade sym=LONGNAME seq=6 price=1.2345 size=7 side=B cond=P id=7",
                  "trade_break seq=7 id=7"));
}

TEST_F(PitchCaptureTest, DecodesStatusesAndAuctions) {
  EXPECT_THAT(
      Decode({Pitch(0x31).Text("SPY", 8).Text("H", 1).Text("1", 1).Text("", 2).bytes(),
              Pitch(0x98).Text("SPY", 8).Text("A", 1).bytes(), Pitch(0x2d).bytes(),
              Pitch(0x95)
                  .Text("SPY", 8)
                  .Text("O", 1)
                  .Little(10'000, 8)
                  .Little(300, 4)
                  .Little(500, 4)
                  .Little(20'000, 8)
                  .Little(30'000, 8)
                  .bytes(),
              Pitch(0x96).Text("SPY", 8).Text("C", 1).Little(10'000, 8).Little(90, 4).bytes()}),
      ElementsAre("status sym=SPY seq=1 kind=trading state=H reason=1",
                  "status sym=SPY seq=2 kind=retail state=A", "status seq=3 kind=session state=end",
                  "auction sym=SPY seq=4 kind=O side=S paired=300 imbalance=200 ref=1 "
                  "indicative=2 book=3",
                  "auction sym=SPY seq=5 kind=C state=summary paired=90 indicative=1"));
}

TEST_F(PitchCaptureTest, FuturesHaveShorterOrdersAndPricesBelowZero) {
  market_ = PitchMarket::kFutures;
  const auto add = [](uint64_t price) {
    return Pitch(0x22)
        .Little(10, 8)
        .Text("B", 1)
        .Little(5, 2)
        .Text("0002aV", 6)
        .Little(price, 2)
        .bytes();
  };
  const std::string spread = Pitch(0xbb)
                                 .Text("0004yj", 6)
                                 .Little(kCaptureNs / kNsPerSecond, 4)
                                 .Text("ZAMB1", 6)
                                 .Little(0, 1)
                                 .Little(20'200'619, 4)
                                 .Little(50, 2)
                                 .Text("T", 1)
                                 .Little(500, 8)
                                 .Little(1, 1)
                                 .Little(41, 1)
                                 .Little(0, 1)
                                 .bytes();
  EXPECT_THAT(
      Decode({MessageBytes()
                  .Little(0x20, 1)
                  .Little(7, 4)
                  .Little(kCaptureNs / kNsPerSecond + 60, 4)
                  .bytes(),
              add(1'480), add(0x10000 - 25),
              Pitch(0x28).Little(10, 8).Little(6, 2).Little(1'500, 2).bytes(),
              Pitch(0x23).Little(10, 8).Little(1, 4).Little(9, 8).Text("S", 1).bytes(), spread,
              Pitch(0xb9)
                  .Text("0002aV", 6)
                  .Little(20'200'618, 4)
                  .Little(~uint64_t{0} - 9'999, 8)
                  .Text("S", 1)
                  .bytes(),
              Pitch(0xbe).Text("0002aV", 6).Little(20'000, 8).Little(10'000, 8).bytes(),
              Pitch(0xbc).bytes()}),
      ElementsAre(
          "order time=60000000005 sym=0002aV seq=2 action=A side=B price=14.8 size=5 id=10",
          "order time=60000000005 sym=0002aV seq=3 action=A side=B price=-0.25 size=5 id=10",
          "order time=60000000005 sym=0002aV seq=4 action=M side=B price=15 size=6 id=10",
          "order time=60000000005 sym=0002aV seq=5 action=E side=B price=15 size=1 id=10 trade=9 "
          "cond=S",
          "trade time=60000000005 sym=0002aV seq=5 price=15 size=1 side=B cond=ES id=9",
          fmt::format("instrument time=5 sym=0004yj seq=6 kind=spread market=ZAMB1 tick=0.05 "
                      "multiplier=50 expiry={} test flags=00T",
                      DayNs(20'200'619)),
          fmt::format("status time=60000000005 sym=0002aV seq=7 kind=settlement state=S price=-1 "
                      "at={}",
                      DayNs(20'200'618)),
          "status time=60000000005 sym=0002aV seq=8 kind=limit state=high price=2",
          "status time=60000000005 sym=0002aV seq=8 kind=limit state=low price=1"));
  EXPECT_EQ(counts_.decoded[0xbc], 1);
}

TEST_F(PitchCaptureTest, DaySummariesOfFuturesAreFourPrices) {
  market_ = PitchMarket::kFutures;
  MessageBytes summary = Pitch(0xba).Text("0002aV", 6).Little(20'200'618, 4).Little(9, 4);
  for (const uint64_t price : {40'000u, 10'000u, 20'000u, 30'000u}) summary.Little(price, 8);
  std::vector<std::string> texts = Decode({summary.Little(1, 12).Little(0, 1).bytes()});
  const std::string at = fmt::format(" at={}", DayNs(20'200'618));
  for (std::string& text : texts) text.erase(text.find(at), at.size());
  EXPECT_THAT(texts, ElementsAre("status sym=0002aV seq=1 kind=day state=high price=4",
                                 "status sym=0002aV seq=1 kind=day state=low price=1",
                                 "status sym=0002aV seq=1 kind=day state=open price=2",
                                 "status sym=0002aV seq=1 kind=day state=close price=3"));
}

TEST_F(PitchCaptureTest, OptionsHaveTheSymbolsOfTheIndustry) {
  market_ = PitchMarket::kOptions;
  const auto mapping = [](std::string_view osi) {
    return MessageBytes()
        .Little(0x2e, 1)
        .Text("01IVLn", 6)
        .Text(osi, 21)
        .Text("N", 1)
        .Text("SPX", 8)
        .bytes();
  };
  EXPECT_THAT(
      Decode({MessageBytes()
                  .Little(0xb1, 1)
                  .Little(kCaptureNs / kNsPerSecond, 4)
                  .Little(60, 4)
                  .Little(0, 4)
                  .Little(20'250'117, 4)
                  .bytes(),
              mapping("SPXW  250117C05000500"),
              Pitch(0x30)
                  .Little(1, 8)
                  .Text("B", 1)
                  .Little(7, 4)
                  .Text("01IVLn", 8)
                  .Little(12'345, 8)
                  .Little(7, 8)
                  .Text("f", 1)
                  .bytes(),
              Pitch(0xd1)
                  .Text("01IVLn", 8)
                  .Text("O", 1)
                  .Little(10'000, 8)
                  .Little(5, 4)
                  .Little(5, 4)
                  .Little(20'000, 8)
                  .Little(30'000, 8)
                  .Text("Q", 1)
                  .Little(5'000, 8)
                  .Little(15'000, 8)
                  .bytes()}),
      ElementsAre(fmt::format("instrument sym=01IVLn seq=2 kind=C market=SPXW underlying=SPX "
                              "strike=5000.5 expiry={} flags=N",
                              DayNs(20'250'117)),
                  "trade time=60000000005 sym=01IVLn seq=3 price=1.2345 size=7 side=B cond=Pf id=7",
                  "auction time=60000000005 sym=01IVLn seq=4 kind=O state=Q paired=5 imbalance=0 "
                  "ref=1 indicative=2 book=3 low=0.5 high=1.5"));
  for (const char* osi :
       {"SPXW  250117X05000500", "SPXW  251317C05000500", "SPXW  250117C0500050x"}) {
    EXPECT_TRUE(Decode({mapping(osi)}).empty()) << osi;
    EXPECT_THAT(counts_.last_problem, HasSubstr("its OSI symbol is none"));
  }
}

TEST_F(PitchCaptureTest, MergesTwoLinesOfAUnit) {
  EXPECT_THAT(Read(CaptureBytes()
                       .Udp(Unit(1, {}), kCaptureNs, 1)
                       .Udp(Unit(1, {PitchDelete(11)}), kCaptureNs, 1)
                       .Udp(Unit(3, {PitchDelete(13)}), kCaptureNs, 1)
                       .Udp(Unit(1, {PitchDelete(11), PitchDelete(12)}), kCaptureNs, 2)
                       .Udp(Unit(5, {}), kCaptureNs, 2)),
              ElementsAre("order seq=1 action=D id=11", "order seq=2 action=D id=12",
                          "order seq=3 action=D id=13",
                          "gap time=0 seq=4 first=4 last=4 from=0 tried=lines closed=end "
                          "closed_at=0"));
  EXPECT_EQ(counts_.heartbeats, 2);
  EXPECT_EQ(counts_.repeated, 1);
}

// The time message of the missing number may have been the next second's.
TEST_F(PitchCaptureTest, AfterAGapTheTimeIsNotKnownUntilTheNextSecond) {
  EXPECT_THAT(
      Read(CaptureBytes()
               .Udp(Unit(1, {PitchTime(2), PitchDelete(1)}), kCaptureNs)
               .Udp(Unit(4, {PitchDelete(2), PitchTime(4), PitchDelete(3)}), kCaptureNs)),
      ElementsAre("order time=2000000005 seq=2 action=D id=1", testing::StartsWith("gap "),
                  "order seq=4 action=D id=2", "order time=4000000005 seq=6 action=D id=3"));
}

TEST_F(PitchCaptureTest, AUnitThatStartsOverForgetsOrdersAndTime) {
  EXPECT_THAT(Read(CaptureBytes()
                       .Udp(Unit(1, {PitchTime(2), PitchAdd(1, 'B', 5, 100)}), kCaptureNs)
                       .Udp(Unit(1, {PitchDelete(1)}), kCaptureNs + 2 * kNsPerSecond)),
              ElementsAre(testing::StartsWith("order time=2000000005 sym=SPY seq=2 action=A"),
                          "order seq=1 recv=2000000000 action=D id=1"));
  EXPECT_EQ(counts_.gaps, 0);
}

TEST_F(PitchCaptureTest, TheLastSequenceNumberHasFourBytes) {
  const uint32_t last = UINT32_MAX;
  EXPECT_THAT(Read(CaptureBytes().Udp(Unit(last, {PitchDelete(1)}), kCaptureNs)),
              ElementsAre("order seq=4294967295 action=D id=1"));
  EXPECT_THAT(Read(CaptureBytes().Udp(Unit(last, {PitchDelete(1), PitchDelete(2)}), kCaptureNs)),
              testing::IsEmpty());
  EXPECT_THAT(counts_.last_problem, HasSubstr("its sequence numbers exceed 4 bytes"));
}

TEST_F(PitchCaptureTest, MessagesWithoutANumberHaveATimeOfTheirOwn) {
  EXPECT_THAT(Read(CaptureBytes()
                       .Udp(Unit(1, {PitchTime(2)}), kCaptureNs)
                       .Udp(Unit(0, {PitchDelete(1)}), kCaptureNs)
                       .Udp(Unit(0, {PitchDelete(1)}), kCaptureNs)),
              ElementsAre("order action=D id=1", "order action=D id=1"));
}

TEST_F(PitchCaptureTest, APacketThatDoesNotFitIsCounted) {
  const std::string good = Unit(1, {PitchDelete(1), PitchDelete(2)});
  const auto refused = [&](const std::string& packet) {
    EXPECT_TRUE(Read(CaptureBytes().Udp(packet, kCaptureNs)).empty());
    EXPECT_EQ(counts_.bad_packets, 1);
    return counts_.last_problem;
  };
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_THAT(refused(good.substr(0, bytes)), HasSubstr("packet 1: "));
  }
  const auto changed = [&](size_t at, char value) {
    std::string packet = good;
    packet[at] = value;
    return packet;
  };
  EXPECT_THAT(refused(good + "x"), HasSubstr("its length is not that of the packet"));
  EXPECT_THAT(refused(changed(2, 3)), HasSubstr("it has fewer messages than it says"));
  EXPECT_THAT(refused(changed(2, 1)), HasSubstr("it has more messages than it says"));
  EXPECT_THAT(refused(changed(8, 1)), HasSubstr("a message is shorter than its head"));
  EXPECT_THAT(refused(changed(8, 100)), HasSubstr("it ends within a message"));
}

TEST_F(PitchCaptureTest, AMessageThatDoesNotFitIsCounted) {
  const auto refused = [&](const std::string& message) {
    EXPECT_THAT(Decode({PitchDelete(1), message, PitchDelete(1)}), testing::SizeIs(2));
    EXPECT_EQ(counts_.problems, 1);
    return counts_.last_problem;
  };
  EXPECT_THAT(refused(PitchDelete(1) + "x"),
              HasSubstr("channel 3 session  message 2 of type 0x29 and 15 bytes: its type has "
                        "another length in this market"));
  EXPECT_THAT(refused(PitchAdd(1, 'Z', 1, 1)), HasSubstr("its side is neither B nor S"));
  EXPECT_THAT(refused(PitchTime(86'400)), HasSubstr("its time is after the end of the day"));
  EXPECT_THAT(refused(Pitch(0x98).Text("A\x01", 8).Text("A", 1).bytes()),
              HasSubstr("its symbol is not ASCII"));
  // Of another market.
  EXPECT_THAT(refused(Pitch(0xbe).Text("A", 6).Little(0, 16).bytes()), HasSubstr("0xbe"));
  EXPECT_THAT(Decode({Pitch(0x01).bytes()}), testing::IsEmpty());
  EXPECT_EQ(counts_.unknown[1], 1);
  EXPECT_EQ(counts_.problems, 0);
}

TEST_F(PitchCaptureTest, ReadsOrdersOfByxOf2023) {
  TS_REQUIRE_FIXTURE(path,
                     "pitch/multicast/Byx.Equities.DepthOfBook.Pitch.v2.41/"
                     "AddOrderShortMessage.pcap");
  const int64_t midnight_ns = MidnightNs("2023.08.22", "America/New_York").value();
  const std::vector<std::string> texts = ReadPath(path, midnight_ns);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.decoded[0x22], 7);
  EXPECT_EQ(counts_.decoded[0x20], 2);
  EXPECT_EQ(counts_.problems, 0);
  // 09:30 and 646 us.
  EXPECT_THAT(
      texts,
      testing::Contains(testing::StartsWith(fmt::format(
          "order time={} sym=JDST seq=47691 ", midnight_ns + 34'200 * kNsPerSecond + 646'000))));
}

TEST_F(PitchCaptureTest, ReadsFuturesOf2019) {
  market_ = PitchMarket::kFutures;
  const std::string folder = "pitch/multicast/Futures.DepthOfBook.Pitch.v1.1.6/";
  TS_REQUIRE_FIXTURE(statuses, folder + "TradingStatusMessage.pcap");
  EXPECT_THAT(ReadPath(statuses), testing::SizeIs(16));
  EXPECT_EQ(counts_.problems, 0);
  TS_REQUIRE_FIXTURE(definition, folder + "FutureInstrumentDefinitionMessage.pcap");
  EXPECT_THAT(ReadPath(definition),
              ElementsAre(HasSubstr(fmt::format(" kind=future market=ZVAO tick=0.05 multiplier=1 "
                                                "expiry={} test flags=00T",
                                                DayNs(20'200'619)))));
  TS_REQUIRE_FIXTURE(add, folder + "AddOrderShortMessage.pcap");
  EXPECT_THAT(ReadPath(add), ElementsAre(HasSubstr("action=A side=B price=14.8 size=1 ")));
}

}  // namespace
}  // namespace tickstack::feed::market
