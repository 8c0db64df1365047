#include "wire/compress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/status.h"
#include "table/bytes_for_test.h"
#include "tests/support/fixtures.h"
#include "wire/codec.h"

namespace tickstack::wire {
namespace {

using testing::HasSubstr;

constexpr size_t kPlenty = size_t{1} << 30;

std::string ErrorOf(std::span<const std::byte> message, size_t max_bytes = kPlenty) {
  const absl::StatusOr<ByteBuffer> plain = Decompress(message, max_bytes);
  return plain.ok() ? "" : plain.status().ToString();
}

ByteBuffer MessageOf(const ByteBuffer& elements) {
  return EncodeMessage(MessageKind::kAsync, Value::Vector(Type::kByte, elements.Clone()));
}

// Returns bytes that repeat more or less, so that literals, short, long and overlapping matches
// occur.
ByteBuffer RandomElements(uint64_t seed) {
  std::mt19937_64 rng(seed);
  ByteBuffer bytes;
  const uint64_t alphabet = 1 + rng() % 16;
  for (uint64_t runs = rng() % 200; runs > 0; --runs) {
    const auto byte = static_cast<uint8_t>(rng() % alphabet);
    for (uint64_t n = 1 + rng() % (rng() % 8 == 0 ? 600 : 8); n > 0; --n) bytes.AppendLittle(byte);
  }
  return bytes;
}

TEST(Compress, GivesBackWhatItCompressed) {
  size_t compressed_messages = 0;
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    SCOPED_TRACE(seed);
    const ByteBuffer message = MessageOf(RandomElements(seed));
    const std::optional<ByteBuffer> compressed = Compress(message);
    if (!compressed) continue;
    ++compressed_messages;
    ASSERT_LE(compressed->size(), message.size() / 2);
    const absl::StatusOr<Header> header = ParseHeader(compressed->span().first<kHeaderBytes>());
    ASSERT_TRUE(header.ok());
    ASSERT_TRUE(header->compressed);
    ASSERT_EQ(header->total_bytes, compressed->size());
    const absl::StatusOr<ByteBuffer> plain = Decompress(*compressed, message.size());
    ASSERT_TRUE(plain.ok()) << plain.status();
    ASSERT_TRUE(SameBytes(*plain, message));
  }
  EXPECT_GT(compressed_messages, 1'000u);
}

TEST(Compress, LeavesWhatDoesNotGetUnderHalf) {
  std::mt19937_64 rng(1);
  ByteBuffer noise;
  for (int i = 0; i < 1000; ++i) noise.AppendLittle(uint64_t{rng()});
  EXPECT_FALSE(Compress(MessageOf(noise)).has_value());
  EXPECT_FALSE(Compress({}).has_value());
  EXPECT_FALSE(Compress(EncodeMessage(MessageKind::kAsync, Value::Long(0))).has_value());
}

// The blocks of a file that kdb+ compressed with its own algorithm. Layout: `kxzipped`, blocks,
// then a tail that ends in (u32 bytes, u32 algorithm) per block and the i64 number of blocks.
struct KxBlock {
  std::span<const std::byte> bytes;
  uint32_t algorithm;
};
std::vector<KxBlock> BlocksOf(std::span<const std::byte> file) {
  std::vector<KxBlock> blocks;
  const auto count = LoadLittle<uint64_t>(file.data() + file.size() - 8);
  const std::byte* table = file.data() + file.size() - 8 - 8 * count;
  size_t offset = 8;
  for (uint64_t i = 0; i < count; ++i) {
    const auto bytes = LoadLittle<uint32_t>(table + 8 * i);
    blocks.push_back({file.subspan(offset, bytes), LoadLittle<uint32_t>(table + 8 * i + 4)});
    offset += bytes;
  }
  return blocks;
}

// Goal: our compressor agrees with kdb+'s, byte for byte. Method: decompress each block that kdb+
// compressed, as a message, compress it again, and compare; blocks that it stored must not
// compress.
TEST(Compress, MakesTheSameBytesAsKdbDid) {
  TS_REQUIRE_FIXTURE(folder, "kdb");
  size_t compressed_blocks = 0, stored_blocks = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const ByteBuffer file = ReadWholeFile(entry.path());
    if (file.size() < 48 || AsText(file.span().first(8)) != "kxzipped") continue;
    const std::vector<KxBlock> blocks = BlocksOf(file);
    const std::byte asked = file.data()[file.size() - 8 - 8 * blocks.size() - 32 + 4];
    if (asked != std::byte{1}) continue;
    SCOPED_TRACE(entry.path());
    for (const KxBlock& block : blocks) {
      if (block.algorithm == 1) {
        const absl::StatusOr<ByteBuffer> plain = Decompress(block.bytes, kPlenty);
        ASSERT_TRUE(plain.ok()) << plain.status();
        const std::optional<ByteBuffer> again = Compress(*plain);
        ASSERT_TRUE(again.has_value());
        ASSERT_TRUE(SameBytes(*again, block.bytes));
        ++compressed_blocks;
      } else {
        ByteBuffer message = FromHex("01000000 00000000");
        message.Append(block.bytes);
        ASSERT_FALSE(Compress(message).has_value());
        ++stored_blocks;
      }
    }
  }
  EXPECT_GE(compressed_blocks, 134u);
  EXPECT_GE(stored_blocks, 188u);
}

// Sixteen literals: two groups without a match.
constexpr std::string_view kLiterals =
    "01 00 01 00 1e000000 18000000 | 00 0102030405060708 | 00 090a0b0c0d0e0f10";

TEST(Decompress, RebuildsTheHeaderInItsOwnByteOrder) {
  const absl::StatusOr<ByteBuffer> little = Decompress(FromHex(kLiterals), kPlenty);
  ASSERT_TRUE(little.ok()) << little.status();
  EXPECT_EQ(ToHex(*little), "01000000180000000102030405060708090a0b0c0d0e0f10");
  const absl::StatusOr<ByteBuffer> big = Decompress(
      FromHex("00 01 01 00 0000001e 00000018 | 00 0102030405060708 | 00 090a0b0c0d0e0f10"),
      kPlenty);
  ASSERT_TRUE(big.ok()) << big.status();
  EXPECT_EQ(ToHex(*big), "00010000000000180102030405060708090a0b0c0d0e0f10");
}

TEST(Decompress, CopiesAMatchOntoItself) {
  // Two literals `aa`, then a match of their position and 6 more bytes.
  const absl::StatusOr<ByteBuffer> plain =
      Decompress(FromHex("01 00 01 00 11000000 12000000 | 04 aaaa 00 06"), kPlenty);
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_EQ(ToHex(plain->span().subspan(8)), "aaaaaaaaaaaaaaaaaaaa");
}

TEST(Decompress, BoundsWhatAMessageDeclares) {
  EXPECT_EQ(ErrorOf(FromHex(kLiterals), 24), "");
  EXPECT_THAT(ErrorOf(FromHex(kLiterals), 23), HasSubstr("declares 24 bytes, at most 23"));
  EXPECT_THAT(ErrorOf(FromHex("01 00 01 00 0d000000 08000000 00")), HasSubstr("declares 8 bytes"));
  EXPECT_THAT(ErrorOf(FromHex("01 00 01 00 0d000000 ffffffff 00")),
              HasSubstr("declares 4294967295 bytes"));
}

// Goal: a bomb uses no more memory than it yields. Method: declare 2 GiB in a few bytes; a buffer
// of that size would show as memory, and the error must come from the end of the stream.
TEST(Decompress, TakesNoMemoryForWhatIsOnlyDeclared) {
  EXPECT_THAT(ErrorOf(FromHex("01 00 01 00 11000000 ffffff7f | ff 00ff 00ff"), SIZE_MAX),
              HasSubstr("the stream ends at byte 522 of 2147483647"));
}

TEST(Decompress, RefusesWhatIsNotACompressedMessage) {
  EXPECT_THAT(ErrorOf(FromHex("01 00 01 00 0b000000 000000")), HasSubstr("11 bytes, expected 12"));
  EXPECT_THAT(ErrorOf(FromHex("01 00 00 00 0d000000 18000000 00")), HasSubstr("not compressed"));
  EXPECT_THAT(ErrorOf(FromHex("01 00 01 00 0e000000 18000000 00")),
              HasSubstr("14 bytes in its header, 13 in all"));
  EXPECT_THAT(ErrorOf(FromHex("01 00 01 00 0e000000 09000000 00 01")), "");
  EXPECT_THAT(ErrorOf(FromHex("01 00 01 00 0f000000 09000000 00 01 02")),
              HasSubstr("1 bytes of stream are left after 9 declared bytes"));
  EXPECT_THAT(ErrorOf(FromHex("01 00 01 00 0f000000 0a000000 01 00 01")),
              HasSubstr("a match of 3 bytes at byte 8, 10 are declared"));
}

// Goal: damage and truncation result in an error or in other bytes, nothing else. Method: cut and
// change real compressed messages; AddressSanitizer watches.
TEST(Decompress, SurvivesDamage) {
  for (uint64_t seed = 0; seed < 3'000; ++seed) {
    SCOPED_TRACE(seed);
    std::optional<ByteBuffer> compressed = Compress(MessageOf(RandomElements(seed)));
    if (!compressed) continue;
    std::mt19937_64 rng(seed);
    for (int n = 0; n < 3; ++n) {
      const size_t at = 8 + rng() % (compressed->size() - 8);
      compressed->data()[at] = static_cast<std::byte>(rng());
    }
    if (rng() % 2 == 0) compressed->resize(12 + rng() % (compressed->size() - 12));
    const auto total = static_cast<uint32_t>(compressed->size());
    std::memcpy(compressed->data() + 4, &total, sizeof(total));
    const absl::StatusOr<ByteBuffer> plain = Decompress(*compressed, 1 << 20);
    if (plain.ok()) {
      ASSERT_LE(plain->size(), size_t{1} << 20);
    }
  }
}

}  // namespace
}  // namespace tickstack::wire
