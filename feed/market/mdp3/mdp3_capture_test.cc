#include "feed/market/mdp3/mdp3_capture.h"

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
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

constexpr int64_t kZeroNs = kUnixNsOfKdbEpoch;  // Sending times, and times of events, are 0.
constexpr uint64_t kNoPrice = INT64_MAX;
constexpr uint32_t kNoInt = INT32_MAX;
constexpr uint8_t kEnd = 0x80;

// A root block of the incremental messages.
std::string Incremental(uint8_t indicator) {
  return MessageBytes().Little(kZeroNs, 8).Little(indicator, 1).Little(0, 2).bytes();
}
std::string Entries(const std::vector<std::string>& entries, size_t padding = 0) {
  std::string group = MessageBytes()
                          .Little(entries.empty() ? 32 : entries[0].size(), 2)
                          .Little(0, padding)
                          .Little(entries.size(), 1)
                          .bytes();
  for (const std::string& entry : entries) group += entry;
  return group;
}
std::string Orders(const std::vector<std::string>& entries) { return Entries(entries, 5); }

std::string Sbe(uint16_t number, const std::string& root, const std::string& groups = {},
                uint16_t version = 9) {
  return MessageBytes()
             .Little(10 + root.size() + groups.size(), 2)
             .Little(root.size(), 2)
             .Little(number, 2)
             .Little(1, 2)
             .Little(version, 2)
             .bytes() +
         root + groups;
}
std::string BookEntryBytes(uint64_t price, uint32_t size, uint8_t action, char kind,
                           uint8_t level = 1, uint32_t security = 42) {
  return MessageBytes()
      .Little(price, 8)
      .Little(size, 4)
      .Little(security, 4)
      .Little(7, 4)
      .Little(3, 4)
      .Little(level, 1)
      .Little(action, 1)
      .Text(std::string(1, kind), 1)
      .Little(0, 5)
      .bytes();
}
std::string MdpPacket(uint32_t seq, const std::vector<std::string>& messages,
                      int64_t sent_ns = kZeroNs) {
  std::string packet =
      MessageBytes().Little(seq, 4).Little(static_cast<uint64_t>(sent_ns), 8).bytes();
  for (const std::string& message : messages) packet += message;
  return packet;
}
std::string OneLevel(uint64_t price) {
  return Sbe(46, Incremental(kEnd), Entries({BookEntryBytes(price, 5, 0, '0')}));
}

// Writes captures, and reads their events as texts without times and channel.
class Mdp3CaptureTest : public testing::Test {
 protected:
  Mdp3CaptureTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_mdp3_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~Mdp3CaptureTest() override { fs::remove(path_); }

  std::vector<std::string> Read(const CaptureBytes& capture) {
    std::ofstream(path_, std::ios::binary) << capture.bytes();
    std::vector<std::string> texts = ReadPath(path_);
    for (std::string& text : texts) {
      for (const std::string part : {" time=0", " recv=0", " channel=239.0.0.1:1000"}) {
        if (const size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
      }
    }
    return texts;
  }
  std::vector<std::string> ReadPath(const fs::path& path) {
    EventTexts events;
    const absl::StatusOr<ChannelLines> lines = ChannelLines::Parse(lines_);
    EXPECT_TRUE(lines.ok()) << lines.status();
    absl::StatusOr<std::unique_ptr<Mdp3Capture>> file = Mdp3Capture::Open(path, *lines);
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
    return events.texts;
  }
  // Reads the messages of one packet.
  std::vector<std::string> Decode(const std::vector<std::string>& messages) {
    return Read(CaptureBytes().Udp(MdpPacket(1, messages), kZeroNs));
  }

  fs::path path_;
  absl::Status status_;
  MessageCounts counts_;
  std::vector<std::string> lines_;
};

TEST_F(Mdp3CaptureTest, LevelsAreCompleteAfterTheLastQuotesOfAnEvent) {
  const std::string rest =
      Sbe(46, Incremental(0x04),
          Entries({BookEntryBytes(1'234'567'890'000, 5, 0, '0'),
                   BookEntryBytes(1'250'000'000'000, kNoInt, 1, '1', 10),
                   BookEntryBytes(0, 9, 2, 'E', 2), BookEntryBytes(kNoPrice, 9, 3, 'F', 3),
                   BookEntryBytes(kNoPrice, 0, 0, 'J'), BookEntryBytes(1, 2, 5, 'x')}));
  EXPECT_THAT(
      Decode({Sbe(46, Incremental(0), Entries({BookEntryBytes(1, 5, 4, 'w')})), rest}),
      ElementsAre(
          "level sym=42 seq=1 side=S price=1e-09 size=0 orders=3 incomplete cond=delete_from 1 "
          "best",
          "level sym=42 seq=1 side=B price=1234.56789 size=5 orders=3 incomplete cond=new 1",
          "level sym=42 seq=1 side=S price=1250 orders=3 incomplete cond=change 10",
          "level sym=42 seq=1 side=B price=0 size=0 orders=3 incomplete cond=delete 2 implied",
          "level sym=42 seq=1 side=S size=0 orders=3 incomplete cond=delete_thru 3 implied",
          "level sym=42 seq=1 size=0 incomplete cond=reset",
          "level sym=42 seq=1 side=B price=1e-09 size=2 orders=3 cond=overlay 1 best"));
  EXPECT_EQ(counts_.decoded[46], 2);
}

TEST_F(Mdp3CaptureTest, TheTemplateTellsTheExponent) {
  EXPECT_THAT(
      Decode({Sbe(32, Incremental(kEnd), Entries({BookEntryBytes(1'234'500'000, 5, 0, '0')}), 9),
              OneLevel(123'450'000'000)}),
      ElementsAre(HasSubstr("price=123.45 "), HasSubstr("price=123.45 ")));
}

TEST_F(Mdp3CaptureTest, StepsByTheLengthsInTheMessage) {
  std::string second = BookEntryBytes(2'000'000'000, 6, 0, '1') + "later";
  const std::string groups = Entries({BookEntryBytes(1'000'000'000, 5, 0, '0') + "later", second});
  EXPECT_THAT(Decode({Sbe(46, Incremental(kEnd) + "longer root", groups, 14)}),
              ElementsAre("level sym=42 seq=1 side=B price=1 size=5 orders=3 incomplete cond=new 1",
                          "level sym=42 seq=1 side=S price=2 size=6 orders=3 cond=new 1"));
}

TEST_F(Mdp3CaptureTest, ABookMessageMayHaveOrders) {
  const auto order = [](uint64_t id, uint32_t size, uint8_t entry, uint8_t action) {
    return MessageBytes()
        .Little(id, 8)
        .Little(1, 8)
        .Little(size, 4)
        .Little(entry, 1)
        .Little(action, 1)
        .Little(0, 2)
        .bytes();
  };
  const std::string levels = Entries(
      {BookEntryBytes(1'000'000'000, 5, 0, '0'), BookEntryBytes(2'000'000'000, 6, 0, '1', 1, 43)});
  EXPECT_THAT(
      Decode({Sbe(46, Incremental(kEnd),
                  levels + Orders({order(9, 4, 2, 0), order(10, kNoInt, 1, 2)}))}),
      ElementsAre(testing::_, testing::_, "order sym=43 seq=1 action=A side=S price=2 size=4 id=9",
                  "order sym=42 seq=1 action=D side=B price=1 id=10"));
  EXPECT_THAT(Decode({Sbe(46, Incremental(kEnd), levels + Orders({order(9, 4, 3, 0)}))}),
              IsEmpty());
  EXPECT_THAT(counts_.last_problem, HasSubstr("an order is of no entry"));
}

TEST_F(Mdp3CaptureTest, DecodesTradesWithTheirOrders) {
  const auto trade = [](uint64_t price, uint32_t size, uint32_t orders, uint8_t side,
                        uint8_t action, uint32_t id) {
    return MessageBytes()
        .Little(price, 8)
        .Little(size, 4)
        .Little(42, 4)
        .Little(7, 4)
        .Little(orders, 4)
        .Little(side, 1)
        .Little(action, 1)
        .Little(id, 4)
        .Little(0, 2)
        .bytes();
  };
  const auto order = [](uint64_t id, uint32_t size) {
    return MessageBytes().Little(id, 8).Little(size, 4).Little(0, 4).bytes();
  };
  const std::string trades =
      Entries({trade(1'000'000'000, 5, 2, 1, 0, 11), trade(2'000'000'000, 6, 1, 2, 1, 12),
               trade(3'000'000'000, 7, 0, 0, 2, UINT32_MAX)});
  EXPECT_THAT(
      Decode({Sbe(48, Incremental(1), trades + Orders({order(91, 5), order(0, 5), order(93, 6)}))}),
      ElementsAre("trade sym=42 seq=1 price=1 size=5 side=B id=11",
                  "trade sym=42 seq=1 price=2 size=6 side=S cond=change id=12",
                  "trade_break sym=42 seq=1 price=3 size=7",
                  "order sym=42 seq=1 action=E price=1 size=5 id=91",
                  "order sym=42 seq=1 action=E price=2 size=6 id=93"));
  EXPECT_THAT(Decode({Sbe(48, Incremental(1),
                          trades + Orders({order(1, 1), order(2, 1), order(3, 1), order(4, 1)}))}),
              IsEmpty());
  EXPECT_THAT(counts_.last_problem, HasSubstr("it has more orders than its entries say"));
}

TEST_F(Mdp3CaptureTest, DecodesTheLongAndTheOldLayouts) {
  const std::string long_level = MessageBytes()
                                     .Little(1'000'000'000, 8)
                                     .Little(uint64_t{1} << 40, 8)
                                     .Little(42, 4)
                                     .Little(7, 4)
                                     .Little(kNoInt, 4)
                                     .Little(2, 1)
                                     .Little(1, 1)
                                     .Text("1", 1)
                                     .Little(0, 1)
                                     .bytes();
  const std::string long_trade = MessageBytes()
                                     .Little(1'000'000'000, 8)
                                     .Little(uint64_t{1} << 40, 8)
                                     .Little(42, 4)
                                     .Little(7, 4)
                                     .Little(0, 4)
                                     .Little(5, 4)
                                     .Little(2, 1)
                                     .Little(0, 1)
                                     .Little(0, 6)
                                     .bytes();
  const std::string old_trade = MessageBytes()
                                    .Little(10'000'000, 8)
                                    .Little(5, 4)
                                    .Little(42, 4)
                                    .Little(7, 4)
                                    .Little(1, 4)
                                    .Little(6, 4)
                                    .Little(1, 1)
                                    .Little(0, 1)
                                    .Little(0, 2)
                                    .bytes();
  EXPECT_THAT(Decode({Sbe(64, Incremental(kEnd), Entries({long_level})),
                      Sbe(65, Incremental(kEnd), Entries({long_trade})),
                      Sbe(36, Incremental(kEnd), Entries({old_trade}), 5)}),
              ElementsAre("level sym=42 seq=1 side=S price=1 size=1099511627776 cond=change 2",
                          "trade sym=42 seq=1 price=1 size=1099511627776 side=S id=5",
                          "trade sym=42 seq=1 price=1 size=5 side=B id=6"));
}

TEST_F(Mdp3CaptureTest, DecodesOrdersByOrder) {
  const auto order = [](uint64_t id, uint64_t price, uint32_t size, uint8_t action, char kind) {
    return MessageBytes()
        .Little(id, 8)
        .Little(1, 8)
        .Little(price, 8)
        .Little(size, 4)
        .Little(42, 4)
        .Little(action, 1)
        .Text(std::string(1, kind), 1)
        .Little(0, 6)
        .bytes();
  };
  EXPECT_THAT(
      Decode({Sbe(47, Incremental(kEnd),
                  Entries({order(9, 1'000'000'000, 4, 0, '0'), order(9, 1'000'000'000, 3, 1, '0'),
                           order(9, kNoPrice, kNoInt, 2, '1'),
                           order(UINT64_MAX, kNoPrice, kNoInt, 0, 'J')}))}),
      ElementsAre("order sym=42 seq=1 action=A side=B price=1 size=4 id=9",
                  "order sym=42 seq=1 action=M side=B price=1 size=3 id=9",
                  "order sym=42 seq=1 action=D side=S id=9", "order sym=42 seq=1 action=R"));
}

TEST_F(Mdp3CaptureTest, DecodesStatusesStatisticsAndLimits) {
  const auto status = [](std::string_view group, uint32_t security, uint8_t event) {
    std::string text(group);
    text.resize(6);
    return MessageBytes()
        .Little(kZeroNs, 8)
        .Text(text, 6)
        .Little(0, 6)
        .Little(security, 4)
        .Little(10'957, 2)
        .Little(kEnd, 1)
        .Little(17, 1)
        .Little(0, 1)
        .Little(event, 1)
        .bytes();
  };
  const auto statistic = [](uint64_t price, uint8_t flag, uint8_t action, char kind) {
    return MessageBytes()
        .Little(price, 8)
        .Little(42, 4)
        .Little(7, 4)
        .Little(flag, 1)
        .Little(action, 1)
        .Text(std::string(1, kind), 1)
        .Little(0, 5)
        .bytes();
  };
  const auto daily = [](char kind) {
    return MessageBytes()
        .Little(2'000'000'000, 8)
        .Little(5, 4)
        .Little(42, 4)
        .Little(7, 4)
        .Little(10'957, 2)
        .Little(3, 1)
        .Little(0, 1)
        .Text(std::string(1, kind), 1)
        .Little(0, 7)
        .bytes();
  };
  const std::string volume =
      MessageBytes().Little(1'000, 4).Little(42, 4).Little(7, 4).Little(0, 4).bytes();
  const std::string limits = MessageBytes()
                                 .Little(3'000'000'000, 8)
                                 .Little(1'000'000'000, 8)
                                 .Little(kNoPrice, 8)
                                 .Little(42, 4)
                                 .Little(7, 4)
                                 .bytes();
  EXPECT_THAT(
      Decode({Sbe(30, status("ES", kNoInt, 0)), Sbe(30, status("ES", 42, 5)),
              Sbe(51, Incremental(kEnd),
                  Entries({statistic(1'000'000'000, 5, 0, '4'), statistic(kNoPrice, 255, 2, '7')})),
              Sbe(49, Incremental(kEnd), Entries({daily('6'), daily('C')})),
              Sbe(50, Incremental(kEnd), Entries({limits})),
              Sbe(37, Incremental(2), Entries({volume})),
              Sbe(4, Incremental(kEnd).substr(0, 9), Entries({"ab"}))}),
      ElementsAre("status sym=ES seq=1 kind=group state=17 reason=0 at=0",
                  "status sym=42 seq=1 kind=trading state=17 reason=0 at=0",
                  "status sym=42 seq=1 kind=event state=5 reason=0 at=0",
                  "statistic sym=42 seq=1 kind=indicative_opening price=1 action=A",
                  "statistic sym=42 seq=1 kind=session_high action=D",
                  "statistic sym=42 seq=1 kind=settlement price=2 at=0 action=A cond=03",
                  "statistic sym=42 seq=1 kind=open_interest size=5 at=0 action=A",
                  "statistic sym=42 seq=1 kind=upper_limit price=3 action=A",
                  "statistic sym=42 seq=1 kind=lower_limit price=1 action=A",
                  "statistic sym=42 seq=1 kind=price_variation action=A",
                  "statistic sym=42 seq=1 kind=volume size=1000 action=A",
                  "status seq=1 kind=channel state=reset", "level seq=1 size=0 cond=reset",
                  "order seq=1 action=R"));
}

// A definition of an option whose security id is 42.
std::string OptionDefinition(char action, std::string_view symbol) {
  std::string name(symbol);
  name.resize(20);
  return Sbe(55, MessageBytes()
                     .Little(0, 5)
                     .Text(std::string(1, action), 1)
                     .Little(kZeroNs, 8)
                     .Little(0, 5)
                     .Text("XCME", 4)
                     .Text("E1A", 6)
                     .Text("ES", 6)
                     .Text(name, 20)
                     .Little(42, 4)
                     .Text("OOF", 6)
                     .Text("OCEFPS", 6)
                     .Little(1, 1)
                     .Little(2'018, 2)
                     .Little(9, 1)
                     .Little(255, 1)
                     .Little(255, 1)
                     .Text("USD", 3)
                     .Little(2'900'000'000'000, 8)
                     .Little(0, 23)
                     .Little(250'000'000, 8)
                     .Little(0, 8)
                     .Little(10'000'000, 8)
                     .Little(0, 34)
                     .Little(50'000'000'000, 8)
                     .Little(0, 36)
                     .bytes());
}

TEST_F(Mdp3CaptureTest, ADefinitionNamesAnInstrumentUntilItIsDeleted) {
  EXPECT_THAT(
      Decode({OptionDefinition('A', "ESU8 C2900"), OneLevel(1), OptionDefinition('D', "ESU8 C2900"),
              OneLevel(1)}),
      ElementsAre(fmt::format("instrument sym=ESU8 C2900 seq=1 id=42 kind=OOF market=XCME "
                              "currency=USD underlying=ES tick=0.25 multiplier=50 strike=2900 "
                              "expiry={} flags=OCEFPS 0.01 A",
                              DayNs(20'180'901)),
                  HasSubstr("sym=ESU8 C2900"), HasSubstr("flags=OCEFPS 0.01 D"),
                  HasSubstr("sym=42")));
}

TEST_F(Mdp3CaptureTest, MergesTheLinesOfAChannelAndPassesOverOthers) {
  lines_ = {"310=239.0.0.1:1000+239.0.0.2:1000", "318=239.0.0.3:1000"};
  const std::vector<std::string> texts = Read(CaptureBytes()
                                                  .Udp(MdpPacket(1, {OneLevel(1)}), kZeroNs, 1)
                                                  .Udp(MdpPacket(3, {OneLevel(3)}), kZeroNs, 1)
                                                  .Udp(MdpPacket(1, {OneLevel(1)}), kZeroNs, 2)
                                                  .Udp(MdpPacket(2, {OneLevel(2)}), kZeroNs, 2)
                                                  .Udp(MdpPacket(5, {OneLevel(5)}), kZeroNs, 2)
                                                  .Udp(MdpPacket(1, {OneLevel(1)}), kZeroNs, 3)
                                                  .Udp(MdpPacket(1, {OneLevel(1)}), kZeroNs, 4));
  EXPECT_THAT(texts, ElementsAre(HasSubstr("seq=1 channel=310"), HasSubstr("seq=2 channel=310"),
                                 HasSubstr("seq=3 channel=310"), HasSubstr("seq=1 channel=318"),
                                 HasSubstr("gap seq=4 channel=310 session=1 first=4 last=4"),
                                 HasSubstr("seq=5 channel=310")));
  EXPECT_EQ(counts_.repeated, 1);
  EXPECT_EQ(counts_.other_packets, 1);
}

TEST_F(Mdp3CaptureTest, WithoutLinesASecondDestinationIsAnError) {
  EXPECT_THAT(Read(CaptureBytes()
                       .Udp("no packet of the protocol", kZeroNs, 3)
                       .Udp(MdpPacket(1, {OneLevel(1)}), kZeroNs, 1)
                       .Udp(MdpPacket(1, {OneLevel(1)}), kZeroNs, 2)),
              SizeIs(1));
  EXPECT_EQ(status_.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(status_)),
              HasSubstr("found packets to 239.0.0.1:1000 and 239.0.0.2:1000: expected `channels`"));
}

TEST_F(Mdp3CaptureTest, ASessionThatStartsOverIsToldByItsSendingTime) {
  const auto packet = [](uint32_t seq, int64_t second) {
    return MdpPacket(seq, {OneLevel(seq)}, kZeroNs + second * kNsPerSecond);
  };
  // Number 1 of the new session is missing; a late packet of the old one arrives behind its second.
  EXPECT_THAT(Read(CaptureBytes()
                       .Udp(packet(1, 0), kZeroNs)
                       .Udp(packet(3, 2), kZeroNs)
                       .Udp(packet(2, 100), kZeroNs)
                       .Udp(packet(2, 1), kZeroNs)),
              ElementsAre(StartsWith("level sym=42 seq=1 "), StartsWith("level sym=42 seq=2 "),
                          StartsWith("level sym=42 seq=3 "), StartsWith("level sym=42 seq=2 ")));
  EXPECT_EQ(counts_.gaps, 0);
}

TEST_F(Mdp3CaptureTest, UnknownTemplatesArePassedOverAndCounted) {
  EXPECT_THAT(Decode({Sbe(200, "root"), Sbe(4'000, ""), Sbe(12, ""), OneLevel(1)}), SizeIs(1));
  EXPECT_EQ(counts_.unknown[200], 1);
  EXPECT_EQ(counts_.unknown[255], 1);
  EXPECT_EQ(counts_.decoded[12], 1);
  EXPECT_EQ(counts_.problems, 0);
}

TEST_F(Mdp3CaptureTest, APacketThatDoesNotFitIsCounted) {
  const std::string good = MdpPacket(1, {Sbe(12, ""), OneLevel(1)});
  // A packet may end between messages.
  for (size_t bytes = 12; bytes < good.size(); ++bytes) {
    Read(CaptureBytes().Udp(good, kZeroNs).Udp(good.substr(0, bytes), kZeroNs));
    EXPECT_EQ(counts_.bad_packets, bytes == 12 || bytes == 22 ? 0 : 1) << bytes;
  }
  std::string zero = good;
  zero[12] = 0;
  Read(CaptureBytes().Udp(good, kZeroNs).Udp(zero, kZeroNs));
  EXPECT_THAT(counts_.last_problem, HasSubstr("packet 2: 78 bytes to 239.0.0.1:1000: a message is "
                                              "shorter than its head"));
}

// Goal: no damaged message is decoded beyond its end. Method: one message after the other, cut
// anywhere, with its size corrected, and with any of its lengths too large.
TEST_F(Mdp3CaptureTest, AMessageThatDoesNotFitGivesNoRow) {
  const auto refused = [&](const std::string& message) {
    EXPECT_THAT(Decode({OneLevel(1), message, OneLevel(2)}), SizeIs(2)) << counts_.last_problem;
    EXPECT_EQ(counts_.problems, 1);
    return counts_.last_problem;
  };
  const std::string good =
      Sbe(46, Incremental(kEnd),
          Entries({BookEntryBytes(1, 5, 0, '0'), BookEntryBytes(1, 5, 0, '0')}) +
              Orders({std::string(20, '\0') + std::string("\1\0\0\0", 4)}));
  EXPECT_THAT(Decode({good}), SizeIs(3));
  const size_t without_orders = good.size() - 32;
  for (size_t bytes = 10; bytes < good.size(); ++bytes) {
    std::string message = good.substr(0, bytes);
    message[0] = static_cast<char>(bytes);
    if (bytes == without_orders) continue;  // As in earlier versions.
    EXPECT_THAT(refused(message), HasSubstr("of type 46 and "));
  }
  const auto changed = [&](size_t at, char value) {
    std::string message = good;
    message[at] = value;
    return message;
  };
  EXPECT_THAT(refused(changed(2, 8)), HasSubstr("its root block is shorter than its type"));
  EXPECT_THAT(refused(changed(3, 1)), HasSubstr("it ends within its root block"));
  EXPECT_THAT(refused(changed(6, 2)), HasSubstr("its schema is not 1"));
  EXPECT_THAT(refused(changed(17, '\x70')), HasSubstr("its time is not in 1970 to 2200"));
  EXPECT_THAT(refused(changed(21, 26)), HasSubstr("its entries are shorter than their type"));
  EXPECT_THAT(refused(changed(23, 9)), HasSubstr("it ends within a group"));
  EXPECT_THAT(refused(changed(24 + 32 + 25, 6)), HasSubstr("its action is none of a book"));
  EXPECT_THAT(refused(changed(24 + 32 + 26, '?')), HasSubstr("its kind is not of a book"));
  EXPECT_THAT(refused(OptionDefinition('X', "A")), HasSubstr("its action is none of a definition"));
  EXPECT_THAT(refused(OptionDefinition('A', "\x01")), HasSubstr("its texts are not ASCII"));
}

TEST_F(Mdp3CaptureTest, ReadsBothLinesOf2016) {
  TS_REQUIRE_FIXTURE(path, "cme-mdp3/20160927_mdp3_v1.8.pcapng");
  lines_ = {"310=224.0.31.11:14320+224.0.32.11:15320"};
  ReadPath(path);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.packets, 10'000);
  EXPECT_EQ(counts_.repeated, 5'000);
  EXPECT_EQ(counts_.gaps, 0);
  EXPECT_EQ(counts_.decoded[32], 4'898);
  EXPECT_EQ(counts_.decoded[42], 60);
  EXPECT_EQ(counts_.decoded[30], 99);
  EXPECT_EQ(counts_.problems, 0) << counts_.last_problem;
}

TEST_F(Mdp3CaptureTest, ReadsOrdersOf2018) {
  TS_REQUIRE_FIXTURE(path, "cme-mdp3/omi/Mdp3.Sbe.v1.9/MdIncrementalRefreshOrderBook.pcap");
  EXPECT_THAT(ReadPath(path), ElementsAre(StartsWith("order time=")));
  EXPECT_EQ(counts_.problems, 0) << counts_.last_problem;
}

TEST(ChannelLines, SaysWhichTextIsWrong) {
  const auto error = [](const std::string& text) {
    const std::vector<std::string> texts = {"1=239.0.0.1:1", text};
    return std::string(Message(ChannelLines::Parse(texts).status()));
  };
  EXPECT_EQ(error("2=239.0.0.2:1+239.0.0.3:1"), "");
  EXPECT_THAT(error("239.0.0.2:1"), HasSubstr("channels: '239.0.0.2:1': found no channel"));
  EXPECT_THAT(error("=239.0.0.2:1"), HasSubstr("found no channel"));
  EXPECT_THAT(error("2="), HasSubstr("found no port of a line"));
  EXPECT_THAT(error("2=239.0.0.2:1+"), HasSubstr("found no port of a line"));
  EXPECT_THAT(error("2=239.0.0.1:1"), HasSubstr("found a line that is of a channel already"));
}

}  // namespace
}  // namespace tickstack::feed::market
