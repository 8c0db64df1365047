#pragma once

// Threads that help. A caller has some tasks, does them itself, and whichever threads of the pool
// are idle help it meanwhile:
//
//   caller    | task 0 | task 2 | task 3 | task 6 |     waits for task 5, returns
//   thread    idle .. | task 1 | task 4 | task 5 .......|
//
// So any number of callers share one pool: a caller never waits for a thread to become free, only
// at its end for the tasks that somebody has begun. A pool that is busy, or has no threads, costs
// nothing but its help.

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

// Threads: any thread may call ParallelFor, a task as well.
class WorkerPool {
 public:
  // Each thread calls `begin` first, if there is one: to set its priority.
  explicit WorkerPool(size_t threads, const std::function<void()>& begin = nullptr);
  // Nobody is in ParallelFor, and nobody will be.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  size_t threads() const { return threads_.size(); }

  // Calls f(task) once for each task below `tasks`, in any order and on any of these threads and
  // the caller's, and returns when no call runs any more. What the tasks wrote is then the
  // caller's to read. The first error to happen is returned; tasks that nobody has begun by then
  // are left out. f throws nothing.
  // Cost: about 10 us if threads are to be woken, so a task should have 100 us of work or more.
  absl::Status ParallelFor(size_t tasks, absl::FunctionRef<absl::Status(size_t)> f);

 private:
  // One call of ParallelFor, on its caller's stack.
  struct Job;

  static void Run(Job& job);
  void Work();

  std::mutex mutex_;
  std::condition_variable wake_;  // Of idle threads: there is a job, or the end.
  std::condition_variable left_;  // Of callers: a thread left some job.
  std::deque<Job*> jobs_;         // Guarded by mutex_: those that may want help.
  bool stopping_ = false;         // Guarded by mutex_.
  std::vector<std::thread> threads_;
};

}  // namespace tickstack
