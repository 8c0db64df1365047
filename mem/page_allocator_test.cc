#include "mem/page_allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tickstack::mem {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

TEST(PageAllocator, TakesTheLowestPagesAndTouchedOnesFirst) {
  PageAllocator allocator(8);
  EXPECT_EQ(allocator.Take(2 * kMiB)->offset, 0u);
  EXPECT_EQ(allocator.Take(4 * kMiB)->offset, 2 * kMiB);
  EXPECT_FALSE(allocator.Take(2 * kMiB)->touched);
  allocator.Give(2 * kMiB, 4 * kMiB);
  const auto again = allocator.Take(2 * kMiB);
  EXPECT_EQ(again->offset, 2 * kMiB);
  EXPECT_TRUE(again->touched);
}

TEST(PageAllocator, KeepsRunsOffBarredPages) {
  PageAllocator allocator(9);
  allocator.Bar(4);
  EXPECT_FALSE(allocator.Take(10 * kMiB).has_value());
  EXPECT_EQ(allocator.Take(8 * kMiB)->offset, 0u);
  EXPECT_EQ(allocator.Take(8 * kMiB)->offset, 10 * kMiB);
  EXPECT_FALSE(allocator.Take(2 * kMiB).has_value());
}

TEST(PageAllocator, GivesAPageBackWithItsLastBlock) {
  PageAllocator allocator(1);
  const auto first = allocator.Take(512), second = allocator.Take(512);
  EXPECT_EQ(second->offset, 512u);
  EXPECT_FALSE(allocator.Take(1024).has_value());
  allocator.Give(first->offset, 512);
  EXPECT_EQ(allocator.Take(512)->offset, 0u);
  allocator.Give(0, 512);
  allocator.Give(512, 512);
  EXPECT_EQ(allocator.free_pages(), 1u);
  EXPECT_EQ(allocator.Take(1024)->offset, 0u);
}

TEST(PageAllocator, HandsPagesToTheTouchingThread) {
  PageAllocator allocator(2);
  const size_t page = *allocator.TakeUntouched();
  allocator.ReturnTouched(page);
  EXPECT_EQ(allocator.touched_free_pages(), 1u);
  EXPECT_TRUE(allocator.Take(2 * kMiB)->touched);
  EXPECT_EQ(allocator.TakeUntouched(), 1u);
  EXPECT_FALSE(allocator.TakeUntouched().has_value());
}

// Goal: small pages provide every size, aligned, and a small arena is not used up by one page for
// each of the 13 block sizes. Method: one block of each size, and then as many MiB as are free.
// Goal: memory whose touch failed is touched before it is handed out again. Method: a chunk of two
// pages of which one was touched before, and the first block of a page.
TEST(PageAllocator, WhatCouldNotBeTouchedIsNotTouched) {
  constexpr size_t kPage = PageAllocator::kPageBytes;
  PageAllocator pages(4);
  pages.ReturnTouched(*pages.TakeUntouched());
  const PageAllocator::Grant chunk = *pages.Take(2 * kPage);
  EXPECT_FALSE(chunk.touched);
  pages.GiveUntouched(chunk.offset, 2 * kPage);
  EXPECT_EQ(pages.touched_pages(), 0u);
  EXPECT_EQ(pages.touched_free_pages(), 0u);
  EXPECT_EQ(pages.free_pages(), 4u);
  EXPECT_FALSE(pages.Take(2 * kPage)->touched);

  const PageAllocator::Grant block = *pages.Take(512);
  EXPECT_FALSE(block.touched);
  pages.GiveUntouched(block.offset, 512);
  EXPECT_EQ(pages.touched_pages(), 2u);
  EXPECT_FALSE(pages.Take(512)->touched);
  EXPECT_TRUE(pages.Take(512)->touched);
}

TEST(PageAllocator, SharesASmallArenaInSmallPages) {
  constexpr size_t kArenaBytes = 16 * kMiB, kPage = PageAllocator::kSmallPageBytes;
  EXPECT_EQ(PageAllocator::PageBytesFor(kArenaBytes), kPage);
  EXPECT_EQ(PageAllocator::PageBytesFor(size_t{1} << 30), PageAllocator::kPageBytes);
  PageAllocator allocator(kArenaBytes / kPage, kPage);
  std::map<size_t, size_t> blocks;
  for (size_t bytes = Tier::kSmallestBytes; bytes <= 2 * kMiB; bytes *= 2) {
    const auto grant = allocator.Take(bytes);
    ASSERT_TRUE(grant.has_value());
    EXPECT_EQ(grant->offset % bytes, 0u);
    blocks[grant->offset] = bytes;
  }
  size_t more = 0;
  for (; const auto grant = allocator.Take(kMiB); ++more) blocks[grant->offset] = kMiB;
  EXPECT_GE(more, 11u);
  size_t end = 0;
  for (const auto& [offset, bytes] : blocks) {
    EXPECT_GE(offset, end);
    end = offset + bytes;
    allocator.Give(offset, bytes);
  }
  EXPECT_EQ(allocator.free_pages(), allocator.pages());
}

// Goal: an allocator that is restored from its words grants what the original had free, and nothing
// else. Method: random allocations of all sizes, words copied page by page as the change list names
// them, then all live allocations are compared.
TEST(PageAllocator, ComesBackFromItsWords) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 rng(seed);
    constexpr size_t kPages = 40;
    PageAllocator allocator(kPages);
    allocator.NoteChanges(true);
    std::vector<uint32_t> words(kPages, 0);
    std::multimap<size_t, size_t> live;  // Offset to rounded size.
    for (int step = 0; step < 400; ++step) {
      if (live.empty() || rng() % 5 < 3) {
        const size_t rounded =
            rng() % 6 == 0 ? (1 + rng() % 4) * 2 * kMiB : size_t{256} << rng() % 13;
        if (const auto grant = allocator.Take(rounded)) live.emplace(grant->offset, rounded);
      } else {
        auto at = live.begin();
        std::advance(at, static_cast<ptrdiff_t>(rng() % live.size()));
        allocator.Give(at->first, at->second);
        live.erase(at);
      }
      for (const uint32_t page : allocator.changed_pages()) words[page] = allocator.Word(page);
      allocator.changed_pages().clear();
    }
    PageAllocator again(kPages);
    for (size_t page = 0; page < kPages; ++page) ASSERT_TRUE(again.Restore(page, words[page]));
    EXPECT_EQ(again.free_pages(), allocator.free_pages());
    // New grants overlap no live allocation.
    for (int step = 0; step < 300; ++step) {
      const size_t rounded = step % 3 == 0 ? 2 * kMiB : size_t{256} << rng() % 13;
      const auto grant = again.Take(rounded);
      if (!grant) continue;
      const auto after = live.lower_bound(grant->offset);
      EXPECT_TRUE(after == live.end() || after->first >= grant->offset + rounded);
      if (after != live.begin()) {
        const auto before = std::prev(after);
        EXPECT_LE(before->first + before->second, grant->offset);
      }
      live.emplace(grant->offset, rounded);
    }
    while (!live.empty()) {
      again.Give(live.begin()->first, live.begin()->second);
      live.erase(live.begin());
    }
    EXPECT_EQ(again.free_pages(), kPages);
  }
}

TEST(PageAllocator, RefusesWordsThatItNeverWrote) {
  PageAllocator allocator(4);
  EXPECT_FALSE(allocator.Restore(0, 3));
  EXPECT_FALSE(allocator.Restore(0, 2 | 13 << 2));             // No such size.
  EXPECT_FALSE(allocator.Restore(0, 2 | 12 << 2 | 5u << 19));  // 6 blocks of 1 MiB.
  EXPECT_FALSE(allocator.Restore(0, 2 | 0 << 2 | 1 << 6));     // 2 live of 1 cut.
  EXPECT_TRUE(allocator.Restore(0, 1));
  EXPECT_FALSE(allocator.Restore(0, 1));
}

}  // namespace
}  // namespace tickstack::mem
