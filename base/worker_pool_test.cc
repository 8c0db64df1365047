#include "base/worker_pool.h"

#include <gtest/gtest.h>

#include <latch>
#include <set>
#include <thread>

#include "base/status.h"

namespace tickstack {
namespace {

absl::Status Nothing(size_t) { return absl::OkStatus(); }

TEST(WorkerPool, DoesEachTaskOnce) {
  for (const size_t threads : {0u, 1u, 3u}) {
    WorkerPool pool(threads);
    for (const size_t tasks : {0u, 1u, 2u, 1000u}) {
      std::vector<std::atomic<int>> done(tasks);
      const absl::Status status = pool.ParallelFor(tasks, [&](size_t task) {
        ++done[task];
        return absl::OkStatus();
      });
      EXPECT_TRUE(status.ok());
      for (const std::atomic<int>& times : done) EXPECT_EQ(times, 1);
    }
  }
}

// What a task wrote without any order of its own is the caller's to read: the thread sanitizer's
// test.
TEST(WorkerPool, HandsOverWhatTheTasksWrote) {
  WorkerPool pool(3);
  for (size_t round = 0; round < 200; ++round) {
    std::vector<size_t> written(16);
    ASSERT_TRUE(pool.ParallelFor(written.size(),
                                 [&](size_t task) {
                                   written[task] = task + round;
                                   return absl::OkStatus();
                                 })
                    .ok());
    for (size_t task = 0; task < written.size(); ++task) ASSERT_EQ(written[task], task + round);
  }
}

// Two tasks that wait for each other end only on two threads.
TEST(WorkerPool, ThreadsHelpTheCaller) {
  WorkerPool pool(1);
  std::latch both(2);
  EXPECT_TRUE(pool.ParallelFor(2,
                               [&](size_t) {
                                 both.arrive_and_wait();
                                 return absl::OkStatus();
                               })
                  .ok());
}

// A caller gets on while another one holds the only thread.
TEST(WorkerPool, ACallerWaitsForNoThread) {
  WorkerPool pool(1);
  std::latch held(2), done(1);
  std::thread other([&] {
    EXPECT_TRUE(pool.ParallelFor(2,
                                 [&](size_t) {
                                   held.arrive_and_wait();
                                   done.wait();
                                   return absl::OkStatus();
                                 })
                    .ok());
  });
  held.wait();  // The other caller and the pool's thread are both in a task now.
  const std::thread::id caller = std::this_thread::get_id();
  EXPECT_TRUE(pool.ParallelFor(100,
                               [&](size_t) {
                                 EXPECT_EQ(std::this_thread::get_id(), caller);
                                 return absl::OkStatus();
                               })
                  .ok());
  done.count_down();
  other.join();
}

TEST(WorkerPool, TheFirstErrorEndsTheRest) {
  WorkerPool alone(0);
  size_t calls = 0;
  const absl::Status status = alone.ParallelFor(100, [&](size_t task) {
    ++calls;
    return task == 3 ? NotFound("task {}", task) : absl::OkStatus();
  });
  EXPECT_EQ(Message(status), "task 3");
  EXPECT_EQ(calls, 4u);
}

// Tasks 0 and 1 are begun, by the two threads there are, before either fails.
TEST(WorkerPool, AnErrorLeavesOutWhatNobodyHasBegun) {
  WorkerPool pool(1);
  for (int round = 0; round < 50; ++round) {
    std::latch both_began(2);
    std::atomic<size_t> began = 0;
    const absl::Status status = pool.ParallelFor(3, [&](size_t task) -> absl::Status {
      ++began;
      if (task == 2) return NotFound("never begun");
      both_began.arrive_and_wait();
      return NotFound("task {}", task);
    });
    EXPECT_TRUE(Message(status) == "task 0" || Message(status) == "task 1");
    EXPECT_EQ(began, 2u);
    EXPECT_TRUE(pool.ParallelFor(10, Nothing).ok());  // It is over, and nothing is left of it.
  }
}

TEST(WorkerPool, ATaskMayHaveTasks) {
  WorkerPool pool(2);
  std::atomic<int> done = 0;
  EXPECT_TRUE(pool.ParallelFor(8,
                               [&](size_t) {
                                 return pool.ParallelFor(8, [&](size_t) {
                                   ++done;
                                   return absl::OkStatus();
                                 });
                               })
                  .ok());
  EXPECT_EQ(done, 64);
}

// Goal: callers do not disturb each other. Method: four of them at once with small jobs, so that
// jobs begin and end while threads look for one.
TEST(WorkerPool, ServesManyCallersAtOnce) {
  WorkerPool pool(2);
  std::vector<std::thread> callers;
  for (size_t caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&pool, caller] {
      for (size_t round = 0; round < 300; ++round) {
        std::atomic<size_t> sum = 0;
        const absl::Status status = pool.ParallelFor(5, [&](size_t task) -> absl::Status {
          sum += task;
          if (caller == 3 && task == 4) return NotFound("as arranged");
          return absl::OkStatus();
        });
        ASSERT_EQ(status.ok(), caller != 3);
        ASSERT_TRUE(!status.ok() || sum == 10u);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

}  // namespace
}  // namespace tickstack
