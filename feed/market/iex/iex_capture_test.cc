#include "feed/market/iex/iex_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/status.h"
#include "base/time.h"
#include "feed/market/capture_testing.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::market {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kUnixNs = 1'600'000'000'000'000'000;
constexpr int64_t kKdbNs = static_cast<int64_t>(kUnixNs) - kUnixNsOfKdbEpoch;

MessageBytes Start(char type, uint64_t second_byte, std::string_view symbol = "ZIEXT") {
  return MessageBytes()
      .Text(std::string(1, type), 1)
      .Little(second_byte, 1)
      .Little(kUnixNs, 8)
      .Text(symbol, 8);
}
std::string SystemEvent(char event) {
  return MessageBytes().Text("S", 1).Text(std::string(1, event), 1).Little(kUnixNs, 8).bytes();
}

std::string Packet(uint64_t first_seq, const std::vector<std::string>& messages,
                   uint16_t protocol = 0x8004, uint64_t sent_ns = kUnixNs) {
  std::string body;
  for (const std::string& message : messages) {
    body += MessageBytes().Little(message.size(), 2).bytes() + message;
  }
  return MessageBytes()
             .Little(1, 2)
             .Little(protocol, 2)
             .Little(5, 4)
             .Little(77, 4)
             .Little(body.size(), 2)
             .Little(messages.size(), 2)
             .Little(0, 8)
             .Little(first_seq, 8)
             .Little(sent_ns, 8)
             .bytes() +
         body;
}

// Writes captures, and reads their events as texts without channel and exchange time.
class IexCaptureTest : public testing::Test {
 protected:
  IexCaptureTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_iex_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~IexCaptureTest() override { fs::remove(path_); }

  std::vector<std::string> Read(const CaptureBytes& capture) { return ReadBytes(capture.bytes()); }
  std::vector<std::string> ReadBytes(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadPath(path_);
  }
  std::vector<std::string> ReadPath(const fs::path& path) {
    EventTexts events;
    absl::StatusOr<std::unique_ptr<IexCapture>> file = IexCapture::Open(path);
    status_ = file.status();
    if (!file.ok()) return {};
    while (true) {
      const absl::StatusOr<bool> more = (*file)->Advance();
      status_ = more.status();
      if (!more.ok() || !*more) break;
      EXPECT_TRUE((*file)->Decode(events).ok());
    }
    counts_ = (*file)->counts();
    for (std::string& text : events.texts) {
      for (const std::string& part :
           {fmt::format(" time={}", kKdbNs), std::string(" channel=DEEP 5")}) {
        if (const size_t at = text.find(part); at != std::string::npos) text.erase(at, part.size());
      }
    }
    return events.texts;
  }
  // Reads the messages of one packet, received at 0.
  std::vector<std::string> Decode(const std::vector<std::string>& messages) {
    std::vector<std::string> texts =
        Read(CaptureBytes().Udp(Packet(1, messages), kUnixNsOfKdbEpoch));
    for (std::string& text : texts) text.erase(text.find(" recv=0"), 7);
    return texts;
  }

  fs::path path_;
  absl::Status status_;
  MessageCounts counts_;
};

TEST_F(IexCaptureTest, DecodesQuotesLevelsAndTrades) {
  EXPECT_THAT(
      Decode({Start('Q', 0x40).Little(100, 4).Little(99'000, 8).Little(0, 8).Little(0, 4).bytes(),
              Start('8', 1).Little(300, 4).Little(990'001, 8).bytes(),
              Start('5', 0).Little(0, 4).Little(990'500, 8).bytes(),
              Start('T', 0xa0).Little(7, 4).Little(10'000, 8).Little(42, 8).bytes(),
              Start('B', 0).Little(7, 4).Little(10'000, 8).Little(42, 8).bytes()}),
      ElementsAre("quote sym=ZIEXT seq=1 bid=9.9 bsize=100 asize=0 cond=40",
                  "level sym=ZIEXT seq=2 side=B price=99.0001 size=300 cond=01",
                  "level sym=ZIEXT seq=3 side=S price=99.05 size=0 incomplete cond=00",
                  "trade sym=ZIEXT seq=4 price=1 size=7 cond=a0 id=42",
                  "trade_break sym=ZIEXT seq=5 price=1 size=7 cond=00 id=42"));
}

TEST_F(IexCaptureTest, DecodesOrders) {
  EXPECT_THAT(
      Decode({Start('a', '8').Little(9, 8).Little(100, 4).Little(12'345, 8).bytes(),
              Start('M', 1).Little(9, 8).Little(90, 4).Little(12'300, 8).bytes(),
              Start('L', 0x20).Little(9, 8).Little(40, 4).Little(12'300, 8).Little(8, 8).bytes(),
              Start('R', 0).Little(9, 8).bytes(), Start('C', 0).bytes()}),
      ElementsAre("order sym=ZIEXT seq=1 action=A side=B price=1.2345 size=100 id=9",
                  "order sym=ZIEXT seq=2 action=M price=1.23 size=90 id=9 cond=01",
                  "order sym=ZIEXT seq=3 action=E price=1.23 size=40 id=9 trade=8 cond=20",
                  "trade sym=ZIEXT seq=3 price=1.23 size=40 cond=20 id=8",
                  "order sym=ZIEXT seq=4 action=D id=9", "order sym=ZIEXT seq=5 action=R"));
}

TEST_F(IexCaptureTest, DecodesTheDirectoryStatusesAndAuctions) {
  EXPECT_THAT(
      Decode({SystemEvent('O'),
              Start('D', 0xa0).Little(100, 4).Little(5'000, 8).Little(1, 1).bytes(),
              Start('H', 'H').Text("T1", 4).bytes(), Start('P', 1).Text("A", 1).bytes(),
              Start('X', 'Q').Little(10'000, 8).bytes(),
              Start('A', 'O')
                  .Little(1, 4)
                  .Little(10'000, 8)
                  .Little(20'000, 8)
                  .Little(2, 4)
                  .Text("B", 1)
                  .Little(3, 1)
                  .Little(kUnixNsOfKdbEpoch / kNsPerSecond + 60, 4)
                  .Little(30'000, 8)
                  .Little(40'000, 8)
                  .Little(50'000, 8)
                  .Little(60'000, 8)
                  .bytes()}),
      ElementsAre("status seq=1 kind=system state=O",
                  "instrument sym=ZIEXT seq=2 lot=100 prior_close=0.5 luld=1 test flags=a0",
                  "status sym=ZIEXT seq=3 kind=trading state=H reason=T1",
                  "status sym=ZIEXT seq=4 kind=short_sale state=1 reason=A",
                  "status sym=ZIEXT seq=5 kind=official_price state=Q price=1",
                  "auction sym=ZIEXT seq=6 kind=O side=B paired=1 imbalance=2 ref=1 indicative=2 "
                  "book=3 collar=4 low=5 high=6 at=60000000000 extensions=3"));
}

TEST_F(IexCaptureTest, MergesTwoGroupsAndTellsTheGapOfBoth) {
  const auto at = [](int64_t ms) { return static_cast<int64_t>(kUnixNs) + ms * 1'000'000; };
  const std::string event = SystemEvent('S');
  const std::vector<std::string> texts = Read(CaptureBytes()
                                                  .Udp(Packet(1, {}), at(0), 1)
                                                  .Udp(Packet(1, {event}), at(1), 1)
                                                  .Udp(Packet(1, {event}), at(2), 2)
                                                  .Udp(Packet(3, {event}), at(3), 1)
                                                  .Udp(Packet(2, {event}), at(4), 2)
                                                  .Udp(Packet(5, {event}), at(5), 1)
                                                  .Udp(Packet(6, {}), at(2'000), 2));
  EXPECT_TRUE(status_.ok()) << status_;
  const auto recv = [](int64_t ms) { return kKdbNs + ms * 1'000'000; };
  EXPECT_THAT(
      texts,
      ElementsAre(fmt::format("status seq=1 recv={} kind=system state=S", recv(1)),
                  fmt::format("status seq=2 recv={} kind=system state=S", recv(4)),
                  fmt::format("status seq=3 recv={} kind=system state=S", recv(3)),
                  fmt::format("gap time={0} seq=4 recv={0} session=77 first=4 last=4 from={1} "
                              "to={0} tried=lines closed=timeout closed_at={2}",
                              recv(5), recv(3), recv(2'000)),
                  fmt::format("status seq=5 recv={} kind=system state=S", recv(5))));
  EXPECT_EQ(counts_.heartbeats, 2);
  EXPECT_EQ(counts_.repeated, 1);
  EXPECT_EQ(counts_.gaps, 1);
}

TEST_F(IexCaptureTest, ASessionMayStartOver) {
  const std::string event = SystemEvent('S');
  EXPECT_THAT(Read(CaptureBytes()
                       .Udp(Packet(1, {event, event}), kUnixNs)
                       .Udp(Packet(1, {event}, 0x8004, kUnixNs + 1), kUnixNs)),
              testing::SizeIs(3));
  EXPECT_EQ(counts_.gaps, 0);
}

TEST_F(IexCaptureTest, WhatDoesNotFitIsCountedWithItsPacket) {
  const std::string good = SystemEvent('S');
  const auto read = [&](const std::string& packet, size_t cut = 0) {
    const size_t events = Read(CaptureBytes()
                                   .Udp(Packet(1, {good}), kUnixNs)
                                   .Udp(packet, kUnixNs, 1, cut)
                                   .Udp(Packet(3, {good}), kUnixNs))
                              .size();
    EXPECT_TRUE(status_.ok()) << status_;
    return std::pair(events, counts_.last_problem);
  };
  // Not of this protocol: of no consequence but the gap.
  EXPECT_THAT(read("hello"), testing::Pair(3, ""));
  EXPECT_THAT(read(Packet(2, {good}, 0x9999)), testing::Pair(3, ""));
  EXPECT_EQ(counts_.other_packets, 1);
  std::string packet = Packet(2, {good});
  EXPECT_THAT(read(packet.substr(0, packet.size() - 1)),
              testing::Pair(3, HasSubstr("packet 2: 51 bytes to 239.0.0.1:1000: it is shorter than "
                                         "its payload length")));
  EXPECT_THAT(read(packet, 1), testing::Pair(3, HasSubstr("packet 2: ")));
  EXPECT_EQ(counts_.bad_packets, 1);
  packet[14] = 2;
  EXPECT_THAT(read(packet), testing::Pair(3, HasSubstr("it ends within the length of a message")));
  EXPECT_THAT(read(Packet(2, {good.substr(0, 9)})),
              testing::Pair(2, HasSubstr("session 77 message 2 of type 0x53 and 9 bytes: it is "
                                         "shorter than its type")));
  EXPECT_THAT(read(Packet(2, {"?"})), testing::Pair(2, ""));
  EXPECT_EQ(counts_.unknown['?'], 1);
}

TEST_F(IexCaptureTest, ACaptureThatIsCutOffIsAnErrorAfterItsMessages) {
  const std::string whole = CaptureBytes()
                                .Udp(Packet(1, {SystemEvent('S')}), kUnixNs)
                                .Udp(Packet(2, {SystemEvent('S')}), kUnixNs)
                                .bytes();
  EXPECT_THAT(ReadBytes(whole.substr(0, whole.size() - 1)), testing::SizeIs(1));
  EXPECT_EQ(status_.code(), absl::StatusCode::kDataLoss);
  EXPECT_THAT(std::string(Message(status_)), HasSubstr(path_.string() + ": packet 2: "));
  EXPECT_THAT(ReadBytes("no capture"), IsEmpty());
  EXPECT_THAT(std::string(Message(status_)), HasSubstr("expected a capture"));
}

TEST_F(IexCaptureTest, ReadsDeepOf2023AndTopsOf2017) {
  TS_REQUIRE_FIXTURE(deep, "iex-hist/20231002_deep10.pcap.gz");
  ReadPath(deep);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.packets, 5'000);
  EXPECT_EQ(counts_.gaps, 0);
  EXPECT_EQ(counts_.decoded['8'], 1'526);
  EXPECT_EQ(counts_.decoded['T'], 37);
  TS_REQUIRE_FIXTURE(tops, "iex-hist/market/20170710_tops16.pcapng.gz");
  ReadPath(tops);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.decoded['Q'], 27'217);
  EXPECT_EQ(counts_.decoded['A'], 642);
  EXPECT_EQ(counts_.heartbeats, 237);
  EXPECT_EQ(counts_.gaps, 0);
}

}  // namespace
}  // namespace tickstack::feed::market
