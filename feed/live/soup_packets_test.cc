#include "feed/live/soup_packets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "feed/market/big_endian.h"
#include "tests/support/fixtures.h"

namespace tickstack::feed::live {
namespace {

using Packets = std::vector<std::pair<char, std::string>>;

// Takes what is complete.
void TakeAll(SoupPacketReader& reader, Packets& packets) {
  while (const std::optional<SoupPacket> packet = reader.Next()) {
    packets.emplace_back(packet->type, AsText(packet->payload));
  }
}

void Put(SoupPacketReader& reader, std::string_view bytes) {
  const std::span<std::byte> room = reader.Room();
  ASSERT_GE(room.size(), bytes.size());
  std::ranges::copy(AsBytes(bytes), room.begin());
  reader.Commit(bytes.size());
}

TEST(SoupPacketReaderTest, ReadsPacketsThatAreSplitAtAnyByte) {
  std::string bytes;
  AppendSoupPacket('A', "SESSION", bytes);
  AppendSoupPacket('H', "", bytes);
  AppendSoupPacket('S', std::string(300, 'x'), bytes);
  bytes += std::string(2, '\0');  // A length of 0.
  AppendSoupPacket('Z', "", bytes);
  const Packets expected = {
      {'A', "SESSION"}, {'H', ""}, {'S', std::string(300, 'x')}, {'\0', ""}, {'Z', ""}};
  for (size_t first = 0; first <= bytes.size(); ++first) {
    SoupPacketReader reader;
    Packets packets;
    Put(reader, std::string_view(bytes).substr(0, first));
    TakeAll(reader, packets);
    Put(reader, std::string_view(bytes).substr(first));
    TakeAll(reader, packets);
    ASSERT_EQ(packets, expected) << first;
    ASSERT_EQ(reader.offset(), bytes.size());
  }
  SoupPacketReader reader;
  Packets packets;
  for (const char& byte : bytes) {
    Put(reader, {&byte, 1});
    TakeAll(reader, packets);
  }
  EXPECT_EQ(packets, expected);
}

// Goal: there is always room for the rest of a packet. Method: the largest packets, in pieces that
// fill the room.
TEST(SoupPacketReaderTest, HasRoomForTheLargestPacket) {
  std::string bytes;
  const std::string large(UINT16_MAX - 1, 'x');
  for (int i = 0; i < 9; ++i) AppendSoupPacket('S', large, bytes);
  SoupPacketReader reader;
  Packets packets;
  for (std::string_view rest = bytes; !rest.empty();) {
    const size_t taken = std::min(reader.Room().size(), rest.size());
    ASSERT_GT(taken, SoupPacketReader::kBufferBytes / 2 - 2);
    Put(reader, rest.substr(0, taken));
    rest.remove_prefix(taken);
    TakeAll(reader, packets);
  }
  EXPECT_EQ(packets, Packets(9, {'S', large}));
}

// Returns the payload of the TCP segment that is the only packet of a capture.
std::string TcpPayload(const std::filesystem::path& path) {
  constexpr size_t kIpOffset = 24 + 16 + 14;  // Behind the heads of file, packet and Ethernet.
  constexpr size_t kHeads = 20 + 20;          // IP and TCP, without options.
  std::ifstream file(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  const std::string_view ip = std::string_view(bytes).substr(kIpOffset);
  const size_t ip_bytes = market::BigU16(AsBytes(ip).data() + 2);
  return std::string(ip.substr(kHeads, ip_bytes - kHeads));
}

TEST(SoupPacketReaderTest, ReadsWhatAServerOfNasdaqSent) {
  TS_REQUIRE_FIXTURE(folder, "itch/soupbintcp-ouch50/Nasdaq.Nsm.Ouch.v5.0");
  SoupPacketReader reader;
  Packets packets;
  for (const char* const name :
       {"ServerHeartbeatPacket.pcap", "OrderAcceptedMessage.pcap", "CanceledMessage.pcap"}) {
    Put(reader, TcpPayload(folder / name));
  }
  TakeAll(reader, packets);
  ASSERT_EQ(packets.size(), 3U);
  EXPECT_EQ(packets[0], Packets::value_type('H', ""));
  EXPECT_EQ(packets[1].first, 'S');
  EXPECT_EQ(packets[1].second.size(), 73U);
  EXPECT_EQ(packets[2].first, 'S');
  EXPECT_EQ(packets[2].second.size(), 18U);
  std::string heartbeat;
  AppendSoupPacket('R', {}, heartbeat);
  EXPECT_EQ(heartbeat, TcpPayload(folder / "ClientHeartbeatPacket.pcap"));
}

TEST(SoupPacketsTest, ALoginHasPaddedFields) {
  std::string bytes;
  AppendSoupLogin({"user", "pass", "0000012345", 678}, bytes);
  AppendSoupLogin({"", "0123456789", "AB", 1}, bytes);
  EXPECT_EQ(bytes, std::string("\0\x2fLuser  pass      0000012345                 678"
                               "\0\x2fL      0123456789        AB                   1",
                               98));
}

TEST(SoupPacketsTest, ParsesNumbers) {
  EXPECT_EQ(ParseSoupNumber("                   1"), 1);
  EXPECT_EQ(ParseSoupNumber("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(ParseSoupNumber("42      "), 42);
  for (const std::string_view text : {"", "    ", "18446744073709551616", "-1", "+1", "1 2", "0x1",
                                      "1.0", "99999999999999999999"}) {
    EXPECT_FALSE(ParseSoupNumber(text).has_value()) << text;
  }
  EXPECT_EQ(TrimSpaces("  a b "), "a b");
  EXPECT_EQ(TrimSpaces("    "), "");
  EXPECT_EQ(TrimSpaces(""), "");
}

}  // namespace
}  // namespace tickstack::feed::live
