#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <string_view>

#include "base/scratch.h"
#include "base/worker_pool.h"
#include "table/answer_sink.h"

namespace tickstack::query {

// Bounds on one evaluation. They protect against hostile requests: the error comes before the
// memory or the stack is used. Each field names its error.
struct Limits {
  int max_depth = 200;  // Nested brackets, or successive operators, in a text: `stack`.
  // Nested expressions and calls that are being evaluated at the same time: `stack`.
  int max_levels = 2000;
  size_t max_text_bytes = size_t{1} << 20;    // Size of a text: `limit`.
  size_t max_result_bytes = size_t{1} << 30;  // Result and intermediate values: `limit`.
  // Memory for the large blocks of results and temporaries; nullptr: malloc. Any thread may free
  // the blocks of the result. The error if it is full: `limit: scratch memory NAME is full`.
  ScratchMemory* scratch = nullptr;
  // With a scratch memory: bytes of lists and of blocks below kLargeBlockBytes, which stay in DRAM:
  // `limit`.
  size_t max_dram_bytes = size_t{1} << 30;
  // Threads that help with this evaluation, and may help with others at the same time; nullptr: it
  // runs on its caller's thread alone. The number of threads does not change any answer.
  WorkerPool* workers = nullptr;
  // The evaluation ends with `stop` after this time; see also processor_time.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  // Ends the evaluation with `stop` when it becomes true.
  const std::atomic<bool>* cancelled = nullptr;
  // The name with which the client logged in, if it has one. A gateway may send some users'
  // questions to other processes; no answer depends on it.
  std::string_view user{};
  // Takes the answer while it arrives, if another process gives all of it; the result does not
  // matter then. nullptr: no answer is taken.
  AnswerSink* sink = nullptr;
  // After the deadline, the evaluation continues until its thread has used this much processor time
  // for it, but at most for kClockPerProcessor times this duration. So a short query does not fail
  // because the machine is busy, and a query that waits for a disk ends. 0: it ends at the
  // deadline. Must be 0 if there are workers, whose processor time is not counted.
  std::chrono::nanoseconds processor_time{0};
  static constexpr int kClockPerProcessor = 10;
};

}  // namespace tickstack::query
