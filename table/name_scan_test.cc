#include "table/name_scan.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>
#include <vector>

#include "base/byte_buffer.h"

namespace tickstack {
namespace {

using namespace std::string_view_literals;

TEST(BytesOfNames, CountsTheirNuls) {
  EXPECT_EQ(BytesOfNames(AsBytes("a\0bc\0"sv), 0), 0u);
  EXPECT_EQ(BytesOfNames(AsBytes("a\0bc\0"sv), 1), 2u);
  EXPECT_EQ(BytesOfNames(AsBytes("a\0bc\0rest"sv), 2), 5u);
  EXPECT_EQ(BytesOfNames(AsBytes("\0\0\0"sv), 3), 3u);
}

TEST(BytesOfNames, SaysWhenTheBytesEndBefore) {
  EXPECT_EQ(BytesOfNames({}, 1), kTooFewNames);
  EXPECT_EQ(BytesOfNames(AsBytes("a\0bc"sv), 2), kTooFewNames);
  EXPECT_EQ(BytesOfNames(AsBytes("a\0bc\0"sv), SIZE_MAX), kTooFewNames);
}

// Goal: every implementation agrees with the definition. Method: random bytes, from no NULs to only
// NULs, lengths around the 64-byte steps, every alignment; the bytes are in a block of exactly
// their size, so that AddressSanitizer sees a read outside.
TEST(BytesOfNames, EveryImplementationAgreesWithTheDefinition) {
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    const size_t skip = rng() % 64;
    std::vector<std::byte> block(skip + rng() % 300);
    const uint64_t nul_percent = rng() % 101;
    size_t nuls = 0;
    for (std::byte& byte : block) {
      byte = rng() % 100 < nul_percent ? std::byte{0} : static_cast<std::byte>(1 + rng() % 255);
      nuls += byte == std::byte{0};
    }
    const auto bytes = std::span<const std::byte>(block).subspan(skip);
    const size_t names = rng() % (nuls + 2);
    const size_t expected = internal::BytesOfNamesByDefinition(bytes, names);
    for (internal::NameScan scan : internal::NameScans()) {
      ASSERT_EQ(scan(bytes, names), expected);
    }
  }
}

}  // namespace
}  // namespace tickstack
