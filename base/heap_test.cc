#include "base/heap.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "absl/base/config.h"

namespace tickstack {
namespace {

int64_t FaultsOf(size_t bytes) {
  const auto faults = [] {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return int64_t{usage.ru_minflt};
  };
  const int64_t before = faults();
  const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(bytes), &std::free);
  std::memset(block.get(), 1, bytes);
  EXPECT_EQ(*static_cast<const volatile char*>(block.get()), 1);
  return faults() - before;
}

// Without TouchHeap, there would be 1,536 page faults, or three for huge pages.
TEST(TouchHeap, WhatIsTakenNextFaultsNoPageIn) {
#if defined(ABSL_HAVE_ADDRESS_SANITIZER) || defined(ABSL_HAVE_THREAD_SANITIZER) || \
    !defined(__GLIBC__)
  GTEST_SKIP() << "the heap is a sanitizer's, or not the GNU C library's";
#endif
  KeepFreedMemory();
  TouchHeap(size_t{8} << 20);
  EXPECT_EQ(FaultsOf(size_t{6} << 20), 0);
}

}  // namespace
}  // namespace tickstack
