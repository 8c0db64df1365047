#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "base/byte_buffer.h"

namespace tickstack {
namespace {

std::vector<std::byte> RandomBytes(std::mt19937_64& rng, size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(rng());
  return bytes;
}

TEST(Crc32c, GivesThePublishedCheckValues) {
  EXPECT_EQ(Crc32c(AsBytes("123456789")), 0xe3069283u);
  EXPECT_EQ(Crc32c({}), 0u);
  // RFC 3720, B.4: 32 bytes of zeros, and of ones.
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43u);
}

// Goal: the instruction, the byte table and the definition agree. Method: every length around the
// sizes at which the fast path changes, at every alignment of the first byte, from any register.
TEST(Crc32c, AgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const std::vector<std::byte> bytes = RandomBytes(rng, 40'000);
    for (const size_t around :
         {0u, 8u, 3 * 256u, 6 * 256u, 3 * 4096u, 3 * 4096u + 3 * 256u, 6 * 4096u}) {
      const size_t offset = rng() % 16;
      const size_t count = around + rng() % 24;
      const auto part = std::span(bytes).subspan(offset, count);
      const auto crc = static_cast<uint32_t>(rng());
      const uint32_t expected = internal::ExtendCrc32cByBits(crc, part);
      ASSERT_EQ(ExtendCrc32c(crc, part), expected) << count << " bytes from " << offset;
      ASSERT_EQ(internal::ExtendCrc32cByBytes(crc, part), expected);
    }
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
