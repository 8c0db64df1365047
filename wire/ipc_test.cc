#include "wire/ipc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "base/status.h"

namespace tickstack::wire {
namespace {

using Bytes = std::array<uint8_t, kHeaderBytes>;

absl::StatusOr<Header> Parse(const Bytes& bytes) {
  return ParseHeader(std::as_bytes(std::span<const uint8_t, kHeaderBytes>(bytes)));
}

// Returns the message of the error, or "" if there is none.
std::string ErrorOf(const Bytes& bytes) {
  const absl::StatusOr<Header> header = Parse(bytes);
  return header.ok() ? "" : std::string(Message(header.status()));
}

TEST(Header, ReadsBothByteOrders) {
  const auto little = Parse({1, 2, 1, 0, 0x0d, 0x01, 0, 0});
  ASSERT_TRUE(little.ok());
  EXPECT_TRUE(little->little_endian);
  EXPECT_EQ(little->kind, MessageKind::kResponse);
  EXPECT_TRUE(little->compressed);
  EXPECT_EQ(little->total_bytes, 0x10du);

  const auto big = Parse({0, 1, 0, 0, 0, 0, 0x01, 0x0d});
  ASSERT_TRUE(big.ok());
  EXPECT_FALSE(big->little_endian);
  EXPECT_EQ(big->kind, MessageKind::kSync);
  EXPECT_FALSE(big->compressed);
  EXPECT_EQ(big->total_bytes, 0x10du);
}

TEST(Header, TakesBits32To39OfTheLengthFromByte3) {
  const auto header = Parse({1, 0, 0, 0x02, 0x04, 0x03, 0x02, 0x01});
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->total_bytes, 0x0201020304u);
}

TEST(Header, RefusesWhatIsNotOne) {
  EXPECT_THAT(ErrorOf({2, 0, 0, 0, 9, 0, 0, 0}), testing::HasSubstr("byte 0 (byte order) is 2"));
  EXPECT_THAT(ErrorOf({1, 3, 0, 0, 9, 0, 0, 0}), testing::HasSubstr("byte 1 (kind) is 3"));
  EXPECT_THAT(ErrorOf({1, 0, 2, 0, 9, 0, 0, 0}), testing::HasSubstr("byte 2 (compressed) is 2"));
  EXPECT_THAT(ErrorOf({1, 0, 0, 0, 8, 0, 0, 0}), testing::HasSubstr("length 8, expected more"));
  EXPECT_THAT(ErrorOf({0, 0, 0, 0, 0, 0, 0, 0}), testing::HasSubstr("length 0, expected more"));
  EXPECT_EQ(ErrorOf({1, 0, 0, 0, 9, 0, 0, 0}), "");
}

TEST(Header, ReadsBackWhatWasWritten) {
  for (uint64_t total_bytes :
       {uint64_t{9}, uint64_t{0xffffffff}, uint64_t{1} << 32, kMessageBytesMax}) {
    for (MessageKind kind : {MessageKind::kAsync, MessageKind::kSync, MessageKind::kResponse}) {
      std::array<std::byte, kHeaderBytes> bytes;
      WriteHeader(bytes.data(), kind, total_bytes);
      const auto header = ParseHeader(bytes);
      ASSERT_TRUE(header.ok()) << header.status();
      EXPECT_TRUE(header->little_endian);
      EXPECT_FALSE(header->compressed);
      EXPECT_EQ(header->kind, kind);
      EXPECT_EQ(header->total_bytes, total_bytes);
    }
  }
}

TEST(Capability, BoundsTheMessagesOfOlderPeers) {
  EXPECT_EQ(MessageBytesMax(3), 2'147'483'647u);
  EXPECT_EQ(MessageBytesMax(5), kMessageBytesMax);
  EXPECT_EQ(MessageBytesMax(6), kMessageBytesMax);
}

}  // namespace
}  // namespace tickstack::wire
