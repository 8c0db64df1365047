#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "base/status.h"
#include "mem/tier.h"

namespace tickstack::mem {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

bool AllOf(const std::byte* memory, size_t bytes, std::byte value) {
  return std::all_of(memory, memory + bytes, [value](std::byte b) { return b == value; });
}

TEST(DramTier, HandsOutAlignedWritableMemoryOfEverySize) {
  const auto tier = MakeDramTier("t");
  for (const size_t bytes : {size_t{1}, size_t{255}, size_t{256}, size_t{257}, size_t{4096}, kMiB,
                             kMiB + 1, 2 * kMiB, 2 * kMiB + 1, 64 * kMiB, 65 * kMiB}) {
    SCOPED_TRACE(bytes);
    absl::StatusOr<std::byte*> memory = tier->Allocate(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    const auto address = reinterpret_cast<uintptr_t>(*memory);
    EXPECT_EQ(address % (bytes >= 2 * kMiB ? Tier::kHugePageBytes : Tier::kAlignment), 0u);
    std::memset(*memory, 0xab, bytes);
    tier->Free(*memory, bytes);
  }
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
}

TEST(DramTier, RoundsToPowersOfTwoAndThenToHugePages) {
  EXPECT_EQ(Tier::RoundedBytes(1), 256u);
  EXPECT_EQ(Tier::RoundedBytes(257), 512u);
  EXPECT_EQ(Tier::RoundedBytes(kMiB + 1), 2 * kMiB);
  EXPECT_EQ(Tier::RoundedBytes(5 * kMiB), 6 * kMiB);
}

TEST(DramTier, ReusesWhatIsWarm) {
  const auto tier = MakeDramTier("t");
  for (const size_t bytes : {size_t{256}, 2 * kMiB, 6 * kMiB}) {
    SCOPED_TRACE(bytes);
    std::byte* const first = *tier->Allocate(bytes);
    tier->Free(first, bytes);
    std::byte* const second = *tier->Allocate(bytes);
    EXPECT_EQ(second, first);
    tier->Free(second, bytes);
  }
}

TEST(DramTier, RefusesByNameWhatItsCapacityDoesNotHold) {
  const auto tier = MakeDramTier("small", 4 * kMiB);
  std::byte* const first = *tier->Allocate(2 * kMiB);
  std::byte* const second = *tier->Allocate(kMiB);
  const absl::Status refused = tier->Allocate(2 * kMiB).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Message(refused),
            "tier small: 2097152 bytes refused: its capacity is reached: 3145728 of 4194304 bytes "
            "used");
  EXPECT_EQ(tier->Stats().refused, 1u);
  std::byte* const third = *tier->Allocate(kMiB);
  EXPECT_EQ(tier->Stats().used_bytes, 4 * kMiB);
  tier->Free(first, 2 * kMiB);
  tier->Free(second, kMiB);
  tier->Free(third, kMiB);
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
  EXPECT_EQ(tier->Stats().high_water_bytes, 4 * kMiB);
}

TEST(DramTier, RefusesASizeThatNoAddressSpaceHolds) {
  const auto tier = MakeDramTier("t");
  EXPECT_EQ(tier->Allocate(SIZE_MAX).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(tier->Allocate(SIZE_MAX / 2).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
}

// Goal: live allocations never overlap, and the stats are the sum of what lives. Method: random
// allocations and frees of mixed sizes, each block stamped with its number at both ends.
TEST(DramTier, NeverHandsOutTheSameByteTwice) {
  struct Live {
    std::byte* memory;
    size_t bytes;
    uint64_t stamp;
  };
  for (const size_t ahead : {size_t{0}, 8 * kMiB}) {
    const auto tier = MakeDramTier("t", 256 * kMiB, ahead);
    std::mt19937_64 rng(7);
    std::vector<Live> live;
    size_t used = 0;
    for (uint64_t step = 1; step <= 3000; ++step) {
      if (live.empty() || rng() % 3 != 0) {
        const size_t bytes = rng() % 8 == 0 ? 1 + rng() % (9 * kMiB) : 16 + rng() % 100'000;
        absl::StatusOr<std::byte*> memory = tier->Allocate(bytes);
        if (!memory.ok()) {
          ASSERT_GT(used + Tier::RoundedBytes(bytes), 256 * kMiB);
          continue;
        }
        std::memcpy(*memory, &step, 8);
        std::memcpy(*memory + bytes - 8, &step, 8);
        live.push_back({*memory, bytes, step});
        used += Tier::RoundedBytes(bytes);
      } else {
        std::swap(live[rng() % live.size()], live.back());
        const Live gone = live.back();
        live.pop_back();
        ASSERT_EQ(std::memcmp(gone.memory, &gone.stamp, 8), 0);
        ASSERT_EQ(std::memcmp(gone.memory + gone.bytes - 8, &gone.stamp, 8), 0);
        tier->Free(gone.memory, gone.bytes);
        used -= Tier::RoundedBytes(gone.bytes);
      }
      ASSERT_EQ(tier->Stats().used_bytes, used);
    }
    for (const Live& l : live) tier->Free(l.memory, l.bytes);
    EXPECT_EQ(tier->Stats().used_bytes, 0u);
  }
}

TEST(DramTier, ServesSeveralThreadsAtOnce) {
  const auto tier = MakeDramTier("t", SIZE_MAX, 4 * kMiB);
  std::atomic<int> torn = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&tier, &torn, t] {
      for (int i = 0; i < 50; ++i) {
        const size_t bytes = i % 5 == 0 ? 2 * kMiB : size_t{256} << (i % 4);
        std::byte* const memory = *tier->Allocate(bytes);
        std::memset(memory, t + 1, bytes);
        std::this_thread::yield();
        if (!AllOf(memory, bytes, static_cast<std::byte>(t + 1))) ++torn;
        tier->Free(memory, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(tier->Stats().used_bytes, 0u);
}

}  // namespace
}  // namespace tickstack::mem
