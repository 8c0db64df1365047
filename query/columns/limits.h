#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

#include "base/scratch.h"
#include "base/worker_pool.h"

namespace tickstack::query {

// Bounds on one evaluation. They protect against hostile text: whatever would exceed a bound
// becomes an error before the memory or the stack is used.
struct Limits {
  int max_depth = 200;  // Of nesting, and of successive operators: `stack`.
  // Depth of evaluation: expressions within expressions, over all active calls of lambdas. `stack`.
  int max_levels = 2000;
  size_t max_text_bytes = size_t{1} << 20;    // Size of an expression; beyond it, `limit`.
  size_t max_result_bytes = size_t{1} << 30;  // Result and intermediate values; then `limit`.
  // Memory for the large blocks of results and temporaries; nullptr: malloc. Any thread may free
  // the blocks of the result. If it is full: `limit: scratch memory NAME is full`.
  ScratchMemory* scratch = nullptr;
  // With a scratch memory: bytes that stay in DRAM nevertheless, in lists and blocks below
  // kLargeBlockBytes. `limit`.
  size_t max_dram_bytes = size_t{1} << 30;
  // Threads that help with this evaluation, and with others at the same time; nullptr: it runs only
  // on its caller's thread. The number of threads does not change any answer.
  WorkerPool* workers = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Ends the evaluation with `stop` when it becomes true.
  const std::atomic<bool>* cancelled = nullptr;
  // After the deadline, the evaluation continues until its thread has had this much processor time
  // for it, or until kClockPerProcessor times as long has passed. So a short query does not fail
  // because the machine was busy, and one that waits for a disk ends. Without workers.
  std::chrono::nanoseconds processor_time{0};
  static constexpr int kClockPerProcessor = 10;
};

}  // namespace tickstack::query
