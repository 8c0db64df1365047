#include "mem/overflow_tier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include "base/status.h"

namespace tickstack::mem {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

std::unique_ptr<Tier> Open(size_t overflow_bytes) {
  TierOptions options{.name = "pmem", .kind = TierKind::kFilesystem, .path = "/dev/shm"};
  options.capacity_bytes = 16 * kMiB;
  options.overflow_bytes = overflow_bytes;
  absl::StatusOr<std::unique_ptr<Tier>> tier = OpenTier(options);
  EXPECT_TRUE(tier.ok()) << tier.status();
  return *std::move(tier);
}

TEST(OverflowTier, TakesDramWhenTheTierIsFullAndRefusesWhenBothAre) {
  const std::unique_ptr<Tier> tier = Open(8 * kMiB);
  EXPECT_EQ(tier->Stats().name, "pmem");
  EXPECT_EQ(tier->Stats().kind, "filesystem");
  EXPECT_EQ(tier->Stats().overflow_capacity_bytes, 8 * kMiB);
  std::vector<std::byte*> blocks;
  for (int i = 0; i < 8; ++i) blocks.push_back(*tier->Allocate(2 * kMiB));
  EXPECT_EQ(tier->Stats().overflow_used_bytes, 0u);
  for (int i = 0; i < 4; ++i) blocks.push_back(*tier->Allocate(2 * kMiB));
  EXPECT_EQ(tier->Stats().used_bytes, 16 * kMiB);
  EXPECT_EQ(tier->Stats().overflow_used_bytes, 8 * kMiB);
  EXPECT_EQ(tier->Stats().refused, 0u) << "nothing was refused yet";
  EXPECT_EQ(tier->ResidentBytes(), 24 * kMiB);

  const absl::Status refused = tier->Allocate(2 * kMiB).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused));
  EXPECT_THAT(Message(refused), testing::HasSubstr("tier pmem: 2097152 bytes refused"));
  EXPECT_THAT(Message(refused), testing::HasSubstr("tier pmem.overflow: 2097152 bytes refused"));
  EXPECT_EQ(tier->Stats().refused, 1u);

  // What becomes free in the tier is used before more DRAM is.
  for (std::byte* block : {blocks[3], blocks[10]}) tier->Free(block, 2 * kMiB);
  blocks[3] = *tier->Allocate(2 * kMiB);
  EXPECT_EQ(tier->Stats().used_bytes, 16 * kMiB);
  EXPECT_EQ(tier->Stats().overflow_used_bytes, 6 * kMiB);
  blocks[10] = *tier->Allocate(2 * kMiB);
  for (std::byte* block : blocks) tier->Free(block, 2 * kMiB);
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
  EXPECT_EQ(tier->Stats().overflow_used_bytes, 0u);
  EXPECT_EQ(tier->Stats().overflow_high_water_bytes, 8 * kMiB);
}

// Goal: memory goes back to where it came from, whatever the sizes. Method: random allocations and
// frees, each filled with its number, until both are full many times.
TEST(OverflowTier, EveryBlockKeepsItsBytes) {
  struct Block {
    std::byte* memory;
    size_t bytes;
    int number;
  };
  const std::unique_ptr<Tier> tier = Open(16 * kMiB);
  std::mt19937_64 random(7);
  std::vector<Block> blocks;
  uint64_t refused = 0;
  const auto drop = [&](size_t i) {
    const Block& block = blocks[i];
    ASSERT_TRUE(std::all_of(block.memory, block.memory + block.bytes, [&](std::byte b) {
      return b == static_cast<std::byte>(block.number);
    })) << block.number;
    tier->Free(block.memory, block.bytes);
    blocks.erase(blocks.begin() + static_cast<ptrdiff_t>(i));
  };
  for (int number = 0; number < 1'000; ++number) {
    const size_t bytes = size_t{1} << random() % 22;
    const absl::StatusOr<std::byte*> memory = tier->Allocate(bytes);
    refused += memory.ok() ? 0 : 1;
    if (memory.ok()) {
      std::memset(*memory, number, bytes);
      blocks.push_back({*memory, bytes, number});
    }
    while (!blocks.empty() && (random() % 8 == 0 || (!memory.ok() && random() % 4 != 0))) {
      drop(random() % blocks.size());
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_EQ(tier->Stats().refused, refused);
  EXPECT_GT(tier->Stats().overflow_high_water_bytes, 0u);
  while (!blocks.empty()) drop(0);
  EXPECT_EQ(tier->Stats().used_bytes + tier->Stats().overflow_used_bytes, 0u);
}

TEST(OverflowTier, IsForVolatileTiersOnly) {
  for (const TierKind kind : {TierKind::kDram, TierKind::kSimulate, TierKind::kPersistent}) {
    TierOptions options{.name = "t", .kind = kind, .path = ""};
    options.overflow_bytes = 16 * kMiB;
    EXPECT_TRUE(absl::IsInvalidArgument(OpenTier(options).status())) << NameOf(kind);
  }
}

}  // namespace
}  // namespace tickstack::mem
