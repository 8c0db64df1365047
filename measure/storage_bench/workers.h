#pragma once

// The processes that run the tests, all of them each test at the same time:
//
//   parent   prepare test 3 ------------> go --------------------> prepare test 4
//   worker 1        | makes its vectors |   | runs the test |      |
//   worker 2        | makes its vectors |   | runs the test   |    |
//                                       ^ when all are ready       ^ when all are done
//
// A worker has its own directory and its own memory, as each q process of nano has.

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/owned_fd.h"
#include "measure/storage_bench/results.h"
#include "measure/storage_bench/signals.h"
#include "measure/storage_bench/test.h"

namespace tickstack::measure::storage_bench {

// Threads: one, of a process that has no others when Start is called, since workers are forked.
class WorkerProcesses {
 public:
  struct Options {
    std::string directory;  // Workers create subdirectories in it.
    size_t processes = 1;
    size_t threads = 1;  // Threads of each process.
    double seconds = 1;  // Limit of a repeated test.
    Sizes sizes;
  };

  // Starts the workers. `suites` and `signals` must outlive them.
  static absl::StatusOr<WorkerProcesses> Start(const Options& options,
                                               const std::vector<Suite>& suites,
                                               const HeldSignals& signals);
  WorkerProcesses(WorkerProcesses&&) = default;
  WorkerProcesses& operator=(WorkerProcesses&&) = delete;
  // Kills the workers, whatever they do, and waits for their end.
  ~WorkerProcesses();

  // Runs one test in all workers, and returns the measurement of each. Calls `before_go` when all
  // are ready. Errors: the first worker's error; kUnimplemented if the file system cannot do the
  // test; kCancelled if a signal arrived; kInternal, with the worker's fate, if one ended.
  absl::StatusOr<std::vector<Measurement>> Run(size_t suite, size_t test,
                                               absl::FunctionRef<void()> before_go);
  // Makes the workers free the memory and mappings of a suite.
  absl::Status EndSuite();

 private:
  struct Worker {
    pid_t pid;
    OwnedFd socket;
  };
  struct Command;
  struct Reply;

  explicit WorkerProcesses(const HeldSignals& signals) : signals_(signals) {}
  absl::Status Tell(const Command& command);
  absl::StatusOr<std::vector<Reply>> Answers();
  absl::StatusOr<Reply> AnswerOf(size_t worker);
  absl::StatusOr<std::vector<Reply>> Ask(const Command& command);
  absl::Status Fate(size_t worker) const;
  [[noreturn]] static void Serve(int socket, const Options& options,
                                 const std::vector<Suite>& suites, size_t number);

  const HeldSignals& signals_;
  std::vector<Worker> workers_;
};

}  // namespace tickstack::measure::storage_bench
