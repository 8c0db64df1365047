#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>

#include "base/scratch.h"
#include "base/worker_pool.h"

namespace tickstack::query {

// Bounds on one evaluation. They hold against hostile text: what would pass one is an error before
// the memory or the stack is used.
struct Limits {
  int max_depth = 200;  // Of nesting, and of operators in a row: `stack`.
  // Of evaluation: expressions within expressions, over all calls of lambdas that are under way.
  // `stack`.
  int max_levels = 2000;
  size_t max_text_bytes = size_t{1} << 20;    // Size of an expression; beyond it, `limit`.
  size_t max_result_bytes = size_t{1} << 30;  // Result and intermediate values; then `limit`.
  // Memory for the large blocks of results and temporaries; nullptr: malloc. Any thread may free
  // those of the result. A full one is the error `limit: scratch memory NAME is full`.
  ScratchMemory* scratch = nullptr;
  // With a scratch memory, what stays in DRAM all the same: lists, and blocks below
  // kLargeBlockBytes. `limit`.
  size_t max_dram_bytes = size_t{1} << 30;
  // Threads that help with this evaluation and, at the same time, with others; nullptr: it runs on
  // its caller's thread alone. Answers are the same for any number of them.
  WorkerPool* workers = nullptr;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  const std::atomic<bool>* cancelled = nullptr;  // Either of these two ends it with `stop`.
  // Past the deadline it goes on until the thread that evaluates had this much of a processor for
  // it, or kClockPerProcessor times that have passed: a short question is not refused because the
  // machine was busy with others, and one that waits for a disk ends. Without workers.
  std::chrono::nanoseconds processor_time{0};
  static constexpr int kClockPerProcessor = 10;
};

}  // namespace tickstack::query
