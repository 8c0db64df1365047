#pragma once

// How an evaluation uses more than one thread: it cuts a step into tasks, which `Limits::workers`
// help with. Around a parallel step everything is as on one thread:
//
// - Its memory is charged before it begins, on the evaluation's thread. A task sees the budget as
//   const: it may ask whether to go on, it can charge nothing.
// - Each task allocates from the evaluation's scratch memory. One that is full is the error of
//   that task, and so of the step and the query; it leaves nothing half done on the other threads.
// - A task neither asks the Environment, which knows one thread, nor writes what another reads.

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "query/columns/budget.h"
#include "query/columns/errors.h"

namespace tickstack::query {

// Threads that a step may run on, the evaluation's own included.
inline size_t ParallelThreads(const Budget& budget) {
  return 1 + (budget.workers() == nullptr ? 0 : budget.workers()->threads());
}

// Calls f(task), which returns an absl::Status, once for each task below `tasks`. The first error
// is the answer and ends the rest; so are a full scratch memory, and `stop` when time is over
// before a task begins. Tasks should be of 100 us or more, and at least a few for each thread,
// since another query may have the threads.
template <typename F>
absl::Status ParallelTasks(const Budget& budget, size_t tasks, F f) {
  const auto task_in_scratch = [&](size_t task) {
    return RunInScratch(budget.scratch(), [&]() -> absl::Status {
      TS_RETURN_IF_ERROR(budget.CheckTime());
      return f(task);
    });
  };
  if (budget.workers() != nullptr && tasks > 1) {
    return budget.workers()->ParallelFor(tasks, task_in_scratch);
  }
  for (size_t task = 0; task < tasks; ++task) TS_RETURN_IF_ERROR(task_in_scratch(task));
  return absl::OkStatus();
}

// Calls f(begin, end), which returns an absl::Status, for ranges that together are [0, n). Each but
// the last has `step` items, whatever the number of threads: so what depends on where the cuts are
// (the rounding of a sum) does not depend on the machine.
template <typename F>
absl::Status ParallelRanges(const Budget& budget, size_t n, size_t step, F f) {
  return ParallelTasks(budget, (n + step - 1) / step,
                       [&](size_t task) { return f(task * step, std::min(n, (task + 1) * step)); });
}

}  // namespace tickstack::query
