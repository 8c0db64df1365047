#include "base/block_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace tickstack {
namespace {

constexpr size_t kSmallest = BlockCache::kSmallestBytes;

BlockCache::Block Allocated(size_t bytes) { return {std::malloc(bytes), bytes}; }

TEST(BlockCache, GivesBackTheNewestBlockThatFits) {
  BlockCache cache(100 * kSmallest);
  const BlockCache::Block first = Allocated(4 * kSmallest), second = Allocated(4 * kSmallest);
  cache.Give(first);
  cache.Give(second);
  EXPECT_EQ(cache.bytes(), 8 * kSmallest);
  EXPECT_EQ(cache.Take(4 * kSmallest).memory, second.memory);
  EXPECT_EQ(cache.Take(4 * kSmallest).memory, first.memory);
  EXPECT_EQ(cache.Take(4 * kSmallest).memory, nullptr);
  EXPECT_EQ(cache.bytes(), 0u);
  std::free(first.memory);
  std::free(second.memory);
}

TEST(BlockCache, TakesABlockForUpToAQuarterLessAndNoMore) {
  BlockCache cache(100 * kSmallest);
  cache.Give(Allocated(5 * kSmallest));
  EXPECT_EQ(cache.Take(5 * kSmallest + 1).memory, nullptr);
  EXPECT_EQ(cache.Take(4 * kSmallest - 1).memory, nullptr);
  const BlockCache::Block taken = cache.Take(4 * kSmallest);
  ASSERT_NE(taken.memory, nullptr);
  EXPECT_EQ(taken.bytes, 5 * kSmallest);
  std::memset(taken.memory, 1, taken.bytes);
  std::free(taken.memory);
}

TEST(BlockCache, LetsTheOldestGoWhereThereIsNoRoom) {
  BlockCache cache(10 * kSmallest);
  const BlockCache::Block kept = Allocated(6 * kSmallest);
  cache.Give(Allocated(2 * kSmallest));
  cache.Give(Allocated(3 * kSmallest));
  cache.Give(kept);
  EXPECT_EQ(cache.bytes(), 9 * kSmallest);
  EXPECT_EQ(cache.Take(2 * kSmallest).memory, nullptr);
  EXPECT_EQ(cache.Take(6 * kSmallest).memory, kept.memory);
  std::free(kept.memory);
}

TEST(BlockCache, KeepsNeitherSmallBlocksNorThoseAboveItsBound) {
  BlockCache cache(2 * kSmallest);
  cache.Give(Allocated(kSmallest - 1));
  cache.Give(Allocated(2 * kSmallest + 1));
  EXPECT_EQ(cache.bytes(), 0u);
}

// Goal: a block has one holder at a time, whatever the threads do. Method: each thread fills the
// blocks that it took with its own number, and checks the number before it returns them.
TEST(BlockCache, NeverHandsOneBlockToTwoThreads) {
  BlockCache cache(16 * kSmallest);
  std::vector<std::thread> threads;
  for (uint64_t thread = 1; thread <= 4; ++thread) {
    threads.emplace_back([&cache, thread] {
      std::mt19937_64 rng(thread);
      for (int round = 0; round < 500; ++round) {
        const size_t bytes = kSmallest * (1 + rng() % 6);
        BlockCache::Block block = cache.Take(bytes);
        if (block.memory == nullptr) block = Allocated(bytes);
        auto* const words = static_cast<uint64_t*>(block.memory);
        for (size_t at = 0; at < bytes / 8; at += 512) words[at] = thread;
        std::this_thread::yield();
        for (size_t at = 0; at < bytes / 8; at += 512) ASSERT_EQ(words[at], thread);
        cache.Give(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(cache.bytes(), 16 * kSmallest);
}

}  // namespace
}  // namespace tickstack
