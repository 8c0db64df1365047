#pragma once

// A running stack: a child process `tickstack up` in a folder of its own, on ports that the kernel
// chooses, with feeds that wait for a command to start.

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/child_process.h"
#include "table/value.h"

namespace tickstack::loadtest {

using RowsByTable = std::map<std::string, int64_t>;

struct StackProcess {
  std::string name;
  std::string role;
  pid_t pid = -1;
  uint16_t port = 0;
};

// Threads: one owner.
class StackRun {
 public:
  // Start creates `folder`, and the destructor removes it with everything in it.
  StackRun(std::string name, std::string folder)
      : name_(std::move(name)), folder_(std::move(folder)) {}
  ~StackRun();  // Stops the stack if it runs.
  StackRun(const StackRun&) = delete;
  StackRun& operator=(const StackRun&) = delete;

  // Starts the stack and returns at once.
  absl::Status Start(std::string_view configuration);
  // Returns true once `up` has listed the port of each process, and each process has answered there
  // with its process id. Errors: kUnavailable, with the name, if a process does not answer within a
  // minute, or if the stack ended unexpectedly; kInternal if another process answers on its port.
  absl::StatusOr<bool> IsReady();
  // Returns the resident memory of `up` and its children in bytes. May be called before they
  // answer.
  uint64_t ResidentBytes() const;
  // Returns kUnavailable, with the last lines of its log, if the stack ended unexpectedly.
  absl::Status CheckAlive();
  // Requests an orderly shutdown and does not wait for it.
  void Stop();
  // Waits until `up` has ended. Returns kInternal if it did not end cleanly.
  absl::Status Wait();
  bool runs() const { return pid_ > 0; }

  // Returns a process's answer to a query. Errors: kNotFound if the stack has no such process,
  // kUnavailable if it does not answer, kUnknown with the text of q's error.
  absl::StatusOr<Value> Ask(std::string_view process, std::string_view query) const;
  // Calls a function without arguments, such as `.agg.stats`, in a process without tables, and
  // returns its result. Unlike a query, the call has no time limit in the process. Errors: as for
  // Ask.
  absl::StatusOr<Value> Call(std::string_view process, std::string_view function) const;

  const std::string& name() const { return name_; }
  const std::string& folder() const { return folder_; }
  const std::vector<StackProcess>& processes() const { return processes_; }
  std::vector<std::string> ProcessesOf(std::string_view role) const;

  // Returns the last lines of a process, or of all processes for ""; "" if there are none.
  std::string LogTail(std::string_view process, size_t lines) const;
  // Returns why the stack ended: its last warnings and errors, and the last lines of a process that
  // died.
  std::string FailureText() const;
  std::string DataFile(std::string_view name) const {
    return folder_ + "/data/" + std::string(name);
  }
  // Counts the rows in the log by reading all of it. Call it after Wait. kDataLoss if it is
  // damaged.
  absl::StatusOr<RowsByTable> RowsInLog() const;

 private:
  absl::Status ReadReadyFile();
  absl::StatusOr<Value> Request(std::string_view process, const Value& request,
                                std::string_view text) const;

  const std::string name_;
  const std::string folder_;
  std::vector<StackProcess> processes_;
  size_t answered_ = 0;  // Processes that have answered: the first ones of processes_.
  Pipe lifeline_;
  OwnedFd output_;
  pid_t pid_ = -1;
};

}  // namespace tickstack::loadtest
