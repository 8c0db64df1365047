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
  // True if all processes answer: `up` has listed where they listen, and each was asked there for
  // its process id. kUnavailable, with the name, for a process that does not answer within a
  // minute, and if the stack ended unexpectedly; kInternal if another process answers at its port.
  absl::StatusOr<bool> IsReady();
  // Returns the resident memory of `up` and its children in bytes, also before they answer.
  uint64_t ResidentBytes() const;
  // kUnavailable, with the last lines of its log, if the stack ended unexpectedly.
  absl::Status CheckAlive();
  // Stop requests an orderly shutdown, and Wait waits for it. kInternal if it did not end cleanly.
  void Stop();
  absl::Status Wait();
  bool runs() const { return pid_ > 0; }

  // kNotFound; kUnavailable if the process does not answer; kUnknown with q's error.
  absl::StatusOr<Value> Ask(std::string_view process, std::string_view query) const;
  // The same for a function without arguments of a process that has no tables, such as
  // `.agg.stats`. Unlike a query, a call has no time limit in the process.
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
