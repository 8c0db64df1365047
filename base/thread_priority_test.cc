#include "base/thread_priority.h"

#include <gtest/gtest.h>
#include <sched.h>

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

TEST(AskForShortSlices, LeavesPolicyAndNicenessAsTheyAre) {
  std::thread([] {
    SetThreadNice(ThreadNice() + 1);
    const int nice = ThreadNice(), policy = sched_getscheduler(0);
    AskForShortSlices();
    EXPECT_EQ(ThreadNice(), nice);
    EXPECT_EQ(sched_getscheduler(0), policy);
  }).join();
}

}  // namespace
}  // namespace tickstack
