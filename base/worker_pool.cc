#include "base/worker_pool.h"

#include <algorithm>

namespace tickstack {

struct WorkerPool::Job {
  Job(size_t n, absl::FunctionRef<absl::Status(size_t)> function) : tasks(n), f(function) {}

  const size_t tasks;
  const absl::FunctionRef<absl::Status(size_t)> f;
  // Number of the next task to begin; none is left if it is `tasks` or more. Relaxed order is
  // enough: the job itself was handed over under mutex_.
  std::atomic<size_t> next = 0;

  std::mutex error_mutex;
  absl::Status error;  // Guarded by error_mutex: the first one.

  size_t helpers = 0;  // Guarded by the pool's mutex_: threads that are in the job.
};

WorkerPool::WorkerPool(size_t threads, const std::function<void()>& begin) {
  threads_.reserve(threads);
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this, begin] {
      if (begin) begin();
      Work();
    });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::Run(Job& job) {
  while (true) {
    const size_t task = job.next.fetch_add(1, std::memory_order_relaxed);
    if (task >= job.tasks) return;
    if (absl::Status status = job.f(task); !status.ok()) [[unlikely]] {
      job.next.store(job.tasks, std::memory_order_relaxed);
      const std::lock_guard lock(job.error_mutex);
      if (job.error.ok()) job.error = std::move(status);
    }
  }
}

void WorkerPool::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !jobs_.empty(); });
    if (stopping_) return;
    // To the back: the next idle thread helps the caller that waited longest.
    Job& job = *jobs_.front();
    jobs_.pop_front();
    jobs_.push_back(&job);
    ++job.helpers;
    lock.unlock();
    Run(job);
    lock.lock();
    // No task is left to begin, so nobody else has to come; the caller may have said so already.
    if (const auto at = std::ranges::find(jobs_, &job); at != jobs_.end()) jobs_.erase(at);
    if (--job.helpers == 0) left_.notify_all();
  }
}

absl::Status WorkerPool::ParallelFor(size_t tasks, absl::FunctionRef<absl::Status(size_t)> f) {
  if (tasks == 0) return absl::OkStatus();
  Job job(tasks, f);
  const size_t wanted = std::min(tasks - 1, threads_.size());
  if (wanted > 0) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(&job);
    }
    for (size_t i = 0; i < wanted; ++i) wake_.notify_one();
  }
  Run(job);
  if (wanted > 0) {
    std::unique_lock lock(mutex_);
    if (const auto at = std::ranges::find(jobs_, &job); at != jobs_.end()) jobs_.erase(at);
    left_.wait(lock, [&job] { return job.helpers == 0; });
  }
  // No other thread is in the job; each that was has released mutex_ since.
  return std::move(job.error);
}

}  // namespace tickstack
