#include "base/heap_trimmer.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "absl/base/config.h"
#include "base/heap.h"
#include "base/kept_blocks.h"
#include "base/scratch.h"

namespace tickstack {
namespace {

using namespace std::chrono_literals;

// Fills the heap as a query does: on a thread of its own, with blocks that are not at the end of
// its arena.
void FillAndFree(size_t bytes) {
  std::thread([bytes] {
    std::vector<void*> blocks;
    for (size_t filled = 0; filled < bytes; filled += 4000) {
      blocks.push_back(std::malloc(4000));
      std::memset(blocks.back(), 1, 4000);
    }
    void* const last = std::malloc(64);  // Fixes the end of the arena.
    for (void* const block : blocks) std::free(block);
    static std::vector<void*> kept;
    kept.push_back(last);
  }).join();
}

// Waits until the resident memory is below this, at most 30 s.
bool ComesBelow(size_t bytes) {
  for (int i = 0; i < 3000 && ResidentBytes() > bytes; ++i) std::this_thread::sleep_for(10ms);
  return ResidentBytes() <= bytes;
}

TEST(HeapTrimmer, GivesBackWhatAThreadFreed) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER) || \
    !defined(__GLIBC__)
  GTEST_SKIP() << "the heap is a sanitizer's, or not the GNU C library's";
#endif
  KeepFreedMemory();
  const size_t before = ResidentBytes();
  const HeapTrimmer trimmer({.period = 20ms});
  FillAndFree(size_t{400} << 20);
  EXPECT_TRUE(ComesBelow(before + (size_t{128} << 20))) << ResidentBytes();
}

TEST(HeapTrimmer, GivesBackKeptBlocks) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER) || \
    !defined(__GLIBC__)
  GTEST_SKIP() << "the heap is a sanitizer's, or not the GNU C library's";
#endif
  const HeapTrimmer trimmer({.period = 20ms, .slack_bytes = size_t{16} << 20});
  const uint64_t blocks = HeavyBlocks();
  constexpr size_t kBytes = size_t{48} << 20;
  std::byte* const block = AllocateBlock(kBytes);
  EXPECT_EQ(HeavyBlocks(), blocks + 1);
  std::memset(block, 1, kBytes);
  FreeBlock(block, kBytes);
  for (int i = 0; i < 3000 && KeptBlockBytes() > 0; ++i) std::this_thread::sleep_for(10ms);
  EXPECT_EQ(KeptBlockBytes(), 0u);
}

}  // namespace
}  // namespace tickstack
