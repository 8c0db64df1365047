#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "base/byte_buffer.h"

namespace tickstack {
namespace {

std::vector<std::byte> RandomBytes(std::mt19937_64& rng, size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng());
  return bytes;
}

// The definition, bit by bit: 0x82f63b78 is the polynomial with its bits reversed.
uint32_t ExtendByDefinition(uint32_t crc, std::span<const std::byte> bytes) {
  crc = ~crc;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? (crc >> 1) ^ 0x82f63b78u : crc >> 1;
  }
  return ~crc;
}

TEST(Crc32c, GivesThePublishedCheckValues) {
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c({}), 0u);
  // RFC 3720, B.4: 32 bytes of zeros, and of ones.
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43u);
}

// Goal: the library agrees with the definition. Method: every length up to 600, and lengths around
// powers of two up to 64 KiB, where its loops change; any alignment, any register. Each buffer ends
// with its block.
TEST(Crc32c, AgreesWithTheDefinition) {
  std::vector<size_t> lengths(600);
  std::iota(lengths.begin(), lengths.end(), size_t{0});
  for (size_t around = 1024; around <= 65'536; around *= 2) {
    for (size_t length = around - 9; length < around + 9; ++length) lengths.push_back(length);
  }
  std::mt19937_64 rng(1);
  for (const size_t length : lengths) {
    const size_t offset = length < 600 ? length % 16 : rng() % 64;
    SCOPED_TRACE(testing::Message() << length << " bytes from " << offset);
    const std::vector<std::byte> bytes = RandomBytes(rng, offset + length);
    const auto part = std::span(bytes).subspan(offset);
    const auto crc = static_cast<uint32_t>(rng());
    ASSERT_EQ(ExtendCrc32c(crc, part), ExtendByDefinition(crc, part));
  }
}

TEST(Crc32c, IsTheSameInOnePieceAndInMany) {
  std::mt19937_64 rng(7);
  const std::vector<std::byte> bytes = RandomBytes(rng, 100'000);
  uint32_t crc = 0;
  for (size_t at = 0; at < bytes.size();) {
    const size_t count = std::min<size_t>(bytes.size() - at, rng() % 20'000);
    crc = ExtendCrc32c(crc, std::span(bytes).subspan(at, count));
    at += count;
  }
  EXPECT_EQ(crc, Crc32c(bytes));
}

}  // namespace
}  // namespace tickstack
