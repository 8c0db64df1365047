#pragma once

// A pool of helping threads. A caller has some tasks and works on them itself, and the idle threads
// of the pool help it:
//
//   caller    | task 0 | task 2 | task 3 | task 6 |     waits for task 5, returns
//   thread    idle .. | task 1 | task 4 | task 5 .......|
//
// Any number of callers can share one pool: a caller never waits for a thread to become free. It
// waits only at the end, for tasks that other threads have started. Without an idle thread, it does
// all tasks itself.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace tickstack {

// Threads: any thread may call ParallelFor, also within a task.
class WorkerPool {
 public:
  // Each thread first calls `begin`, if given, for example to set its priority.
  explicit WorkerPool(size_t threads, const std::function<void()>& begin = nullptr);
  // No ParallelFor may be running or follow.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  size_t threads() const { return threads_.size(); }

  // Calls f(task) once for each task below `tasks`, in any order, on the pool's threads and the
  // caller's, and returns when all calls have returned. The caller may then read what the tasks
  // wrote. Returns the first error; tasks that have not started by then are skipped. f must not
  // throw.
  // Cost: about 10 us if threads must be woken, so a task should have at least 100 us of work.
  absl::Status ParallelFor(size_t tasks, absl::FunctionRef<absl::Status(size_t)> f);

 private:
  // A call of ParallelFor, on its caller's stack.
  struct Job;

  static void Run(Job& job);
  void Work();

  std::mutex mutex_;
  std::condition_variable wake_;  // Wakes idle threads for a new job, or to stop.
  std::condition_variable left_;  // Wakes callers when a thread has left a job.
  std::deque<Job*> jobs_;         // Guarded by mutex_: jobs that may need help.
  bool stopping_ = false;         // Guarded by mutex_.
  std::vector<std::thread> threads_;
};

}  // namespace tickstack
