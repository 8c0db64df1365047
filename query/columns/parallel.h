#pragma once

// Runs a step of an evaluation on several threads: the step is divided into tasks, which the
// evaluation's thread and the threads of `Limits::workers` run. The rest of an evaluation runs on
// one thread. The rules for tasks:
//
// - The evaluation's thread charges the memory of all tasks before they begin. A task has a const
//   budget: it can check the time, but it cannot charge.
// - Each task allocates from the evaluation's scratch memory. If that is full, the task, the step
//   and the query fail.
// - A task does not use the Environment, which only the evaluation's thread may call.
// - A task does not write anything that another task reads.

#include <algorithm>
#include <cstddef>

#include "absl/status/status.h"
#include "disk/object_store.h"
#include "query/columns/budget.h"
#include "query/columns/errors.h"

namespace tickstack::query {

// Returns the number of threads that a step may run on, including the evaluation's own.
inline size_t ParallelThreads(const Budget& budget) {
  return 1 + (budget.workers() == nullptr ? 0 : budget.workers()->threads());
}

// Calls f(task), which returns an absl::Status, once for each task number below `tasks`. An error
// ends the step and is returned. Errors: those of f, `limit` if the scratch memory is full, and
// `stop` if the time is over when a task begins. Tasks should take at least 100 us each, and there
// should be several for each thread, because another query may occupy some threads.
template <typename F>
absl::Status ParallelTasks(const Budget& budget, size_t tasks, F f) {
  const auto task_in_scratch = [&](size_t task) {
    return RunInScratch(budget.scratch(), [&]() -> absl::Status {
      TS_RETURN_IF_ERROR(budget.CheckTime());
      const auto check_time = [&budget] { return budget.CheckTime(); };
      const disk::WaitCheck ends_waits(check_time);
      return f(task);
    });
  };
  if (budget.workers() != nullptr && tasks > 1) {
    return budget.workers()->ParallelFor(tasks, task_in_scratch);
  }
  for (size_t task = 0; task < tasks; ++task) TS_RETURN_IF_ERROR(task_in_scratch(task));
  return absl::OkStatus();
}

// Calls f(begin, end), which returns an absl::Status, for ranges that together are [0, n). All but
// the last have `step` items, whatever the number of threads. So a result that depends on the
// ranges, such as the rounding of a sum, is the same on every machine.
template <typename F>
absl::Status ParallelRanges(const Budget& budget, size_t n, size_t step, F f) {
  return ParallelTasks(budget, (n + step - 1) / step,
                       [&](size_t task) { return f(task * step, std::min(n, (task + 1) * step)); });
}

}  // namespace tickstack::query
