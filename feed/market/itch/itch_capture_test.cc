#include "feed/market/itch/itch_capture.h"

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

std::string Deleted(uint64_t reference) {
  return MessageBytes().Text("D", 1).Big(1, 2).Big(0, 2).Big(0, 6).Big(reference, 8).bytes();
}
std::string Mold(uint64_t seq, const std::vector<std::string>& messages, uint16_t count) {
  MessageBytes head;
  head.Text("000001234A", 10).Big(seq, 8).Big(count, 2);
  std::string packet = head.bytes();
  for (const std::string& message : messages) {
    packet += MessageBytes().Big(message.size(), 2).bytes() + message;
  }
  return packet;
}
std::string Mold(uint64_t seq, const std::vector<std::string>& messages) {
  return Mold(seq, messages, static_cast<uint16_t>(messages.size()));
}

class ItchCaptureTest : public testing::Test {
 protected:
  ItchCaptureTest()
      : path_(fs::temp_directory_path() /
              fmt::format("tickstack_mold_{}_{}", getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name())) {}
  ~ItchCaptureTest() override { fs::remove(path_); }

  std::vector<std::string> Read(const CaptureBytes& capture) {
    std::ofstream(path_, std::ios::binary) << capture.bytes();
    return ReadPath(path_);
  }
  std::vector<std::string> ReadPath(const fs::path& path) {
    EventTexts events;
    absl::StatusOr<std::unique_ptr<ItchCapture>> file = ItchCapture::Open(path, 0);
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

constexpr int64_t kRecvNs = kUnixNsOfKdbEpoch;

TEST_F(ItchCaptureTest, MergesLinesOfASession) {
  EXPECT_THAT(Read(CaptureBytes()
                       .Udp(Mold(1, {Deleted(11)}), kRecvNs, 1)
                       .Udp(Mold(3, {Deleted(13)}), kRecvNs + 1, 1)
                       .Udp(Mold(1, {Deleted(11), Deleted(12)}), kRecvNs + 2, 2)
                       .Udp(Mold(4, {}), kRecvNs + 3, 2)),
              ElementsAre("order time=0 seq=1 recv=0 channel=000001234A action=D id=11",
                          "order time=0 seq=2 recv=2 channel=000001234A action=D id=12",
                          "order time=0 seq=3 recv=1 channel=000001234A action=D id=13"));
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.gaps, 0);
  EXPECT_EQ(counts_.heartbeats, 1);
}

TEST_F(ItchCaptureTest, TheEndOfTheSessionShowsThatTheLastMessagesAreMissing) {
  EXPECT_THAT(Read(CaptureBytes()
                       .Udp(Mold(1, {Deleted(11)}), kRecvNs)
                       .Udp(Mold(5, {}, 0xffff), kRecvNs + 1)),
              ElementsAre(testing::_, HasSubstr("session=000001234A first=2 last=4 from=0 "
                                                "tried=lines closed=end closed_at=1")));
}

TEST_F(ItchCaptureTest, MessagesWithoutANumberAreNotMerged) {
  EXPECT_THAT(
      Read(
          CaptureBytes().Udp(Mold(0, {Deleted(11)}), kRecvNs).Udp(Mold(0, {Deleted(11)}), kRecvNs)),
      ElementsAre("order time=0 recv=0 channel=000001234A action=D id=11",
                  "order time=0 recv=0 channel=000001234A action=D id=11"));
}

TEST_F(ItchCaptureTest, APacketThatDoesNotFitIsCounted) {
  const std::string packet = Mold(1, {Deleted(11)});
  for (size_t bytes = 0; bytes < packet.size(); ++bytes) {
    EXPECT_TRUE(Read(CaptureBytes().Udp(packet.substr(0, bytes), kRecvNs)).empty());
    EXPECT_EQ(counts_.bad_packets, 1);
    EXPECT_THAT(counts_.last_problem, HasSubstr("packet 1: "));
  }
}

TEST_F(ItchCaptureTest, ReadsPacketsOf2023) {
  TS_REQUIRE_FIXTURE(path,
                     "itch/moldudp64/Nasdaq.Equities.TotalView.Itch.v5.0/Multiple.Packets.pcap");
  ReadPath(path);
  EXPECT_TRUE(status_.ok()) << status_;
  EXPECT_EQ(counts_.packets, 2);
  EXPECT_EQ(counts_.decoded['A'], 36);
  EXPECT_EQ(counts_.decoded['F'], 2);
  EXPECT_EQ(counts_.decoded['D'], 1);
}

TEST(ItchRequest, AsksForMessagesByTheirNumbers) {
  const std::unique_ptr<PacketReader> decoder =
      ItchCapture::Live(0, *ExchangeDays::Create("UTC"), ArbiterSettings());
  EXPECT_EQ(decoder->RequestFor({.session = "S1", .first_seq = 0x0102030405060708, .count = 3}),
            std::string("S1        \x01\x02\x03\x04\x05\x06\x07\x08\x00\x03", 20));
  EXPECT_EQ(decoder->RequestFor({.session = "0123456789", .first_seq = 1, .count = 1'000'000}),
            std::string("0123456789\0\0\0\0\0\0\0\x01\xff\xfe", 20));
}

}  // namespace
}  // namespace tickstack::feed::market
