#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

#ifdef __x86_64__
// Goal: the upper halves of the vector registers are zero after a checksum, since SSE instructions
// are slow while they are not. Method: every length up to 600 and a long one, as the loop that
// fills them depends on the length.
TEST(Crc32c, LeavesTheUpperHalvesOfTheVectorRegistersZero) {
  if (__builtin_cpu_supports("avx") == 0) GTEST_SKIP() << "this processor has no AVX";
  std::vector<size_t> lengths(600);
  std::iota(lengths.begin(), lengths.end(), size_t{0});
  lengths.push_back(65'536);
  const std::vector<std::byte> bytes(lengths.back());
  for (const size_t length : lengths) {
    const auto part = std::span(bytes).first(length);
    std::array<uint64_t, 16 * 4> registers;
    asm volatile("vzeroupper" ::: "memory");
    Crc32c(part);
    asm volatile(
        "vmovups %%ymm0, (%0)\n vmovups %%ymm1, 32(%0)\n vmovups %%ymm2, 64(%0)\n"
        "vmovups %%ymm3, 96(%0)\n vmovups %%ymm4, 128(%0)\n vmovups %%ymm5, 160(%0)\n"
        "vmovups %%ymm6, 192(%0)\n vmovups %%ymm7, 224(%0)\n vmovups %%ymm8, 256(%0)\n"
        "vmovups %%ymm9, 288(%0)\n vmovups %%ymm10, 320(%0)\n vmovups %%ymm11, 352(%0)\n"
        "vmovups %%ymm12, 384(%0)\n vmovups %%ymm13, 416(%0)\n vmovups %%ymm14, 448(%0)\n"
        "vmovups %%ymm15, 480(%0)\n" ::"r"(registers.data())
        : "memory");
    uint64_t upper = 0;
    for (size_t i = 0; i < 16; ++i) upper |= registers[4 * i + 2] | registers[4 * i + 3];
    ASSERT_EQ(upper, 0u) << length << " bytes";
  }
}
#endif

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
