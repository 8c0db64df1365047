#pragma once

// Runs a step of an evaluation on several threads: it is cut into tasks, which `Limits::workers`
// help with. Everything around a parallel step runs on one thread:
//
// - Its memory is charged before it begins, on the evaluation's thread. A task sees the budget as
//   const: it can check the time, but it cannot charge.
// - Each task allocates from the evaluation's scratch memory. If that is full, the task fails, and
//   so do the step and the query; the other threads leave nothing half done.
// - A task neither uses the Environment, which knows one thread, nor writes what another task
// reads.

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "query/columns/budget.h"
#include "query/columns/errors.h"

namespace tickstack::query {

// Returns the number of threads that a step may run on, including the evaluation's own.
inline size_t ParallelThreads(const Budget& budget) {
  return 1 + (budget.workers() == nullptr ? 0 : budget.workers()->threads());
}

// Calls f(task), which returns an absl::Status, once for each task below `tasks`. The first error
// ends the step and is returned; so are a full scratch memory, and `stop` if the time is over
// before a task begins. Tasks should take at least 100 us, and there should be several for each
// thread, since another query may occupy some threads.
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
// the last has `step` items, whatever the number of threads. So a result that depends on the cuts
// (such as the rounding of a sum) does not depend on the machine.
template <typename F>
absl::Status ParallelRanges(const Budget& budget, size_t n, size_t step, F f) {
  return ParallelTasks(budget, (n + step - 1) / step,
                       [&](size_t task) { return f(task * step, std::min(n, (task + 1) * step)); });
}

}  // namespace tickstack::query
