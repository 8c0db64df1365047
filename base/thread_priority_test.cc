#include "base/thread_priority.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/worker_pool.h"

namespace tickstack {
namespace {

TEST(SetThreadNice, IsAboutTheCallingThreadAndThoseThatItStarts) {
  const int before = ThreadNice();
  int raised = -1, inherited = -1;
  std::thread([&] {
    SetThreadNice(before + 3);
    raised = ThreadNice();
    std::thread([&] { inherited = ThreadNice(); }).join();
  }).join();
  EXPECT_EQ(raised, before + 3);
  EXPECT_EQ(inherited, before + 3);
  EXPECT_EQ(ThreadNice(), before);
}

TEST(SetThreadNice, SetsThatOfAPoolsThreadsWhenTheyBegin) {
  const int before = ThreadNice();
  std::atomic<int> begun = 0, nice = -1;
  {
    WorkerPool pool(2, [&] {
      SetThreadNice(before + 2);
      nice = ThreadNice();
      ++begun;
    });
  }
  EXPECT_EQ(begun, 2);
  EXPECT_EQ(nice, before + 2);
  EXPECT_EQ(ThreadNice(), before);
}

// The slice as the kernel tells it (sched_getattr); 0 where it does not: before Linux 6.12.
uint64_t SliceNs() {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime_ns, deadline_ns, period_ns;
  } attributes{};
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0), 0);
  return attributes.runtime_ns;
}

TEST(AskForShortSlices, GetsThemAndLeavesPolicyAndNicenessAsTheyAre) {
  std::thread([] {
    SetThreadNice(ThreadNice() + 1);
    const int nice = ThreadNice(), policy = sched_getscheduler(0);
    const bool told = SliceNs() != 0;
    AskForShortSlices();
    if (told && policy == SCHED_OTHER) {
      EXPECT_EQ(SliceNs(), 100'000u);
    }
    EXPECT_EQ(ThreadNice(), nice);
    EXPECT_EQ(sched_getscheduler(0), policy);
  }).join();
}

}  // namespace
}  // namespace tickstack
