#pragma once

// A stack that runs: a child process `tickstack up` in a folder of its own, on ports that the
// kernel chooses, with feeds that wait.

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
  // `folder` is made by Start and removed with everything in it by the destructor.
  StackRun(std::string name, std::string folder)
      : name_(std::move(name)), folder_(std::move(folder)) {}
  ~StackRun();  // Stops what runs.
  StackRun(const StackRun&) = delete;
  StackRun& operator=(const StackRun&) = delete;

  // Starts it; returns at once.
  absl::Status Start(std::string_view configuration);
  // Whether all of its processes answer. kUnavailable if it has ended by itself.
  absl::StatusOr<bool> IsReady();
  // kUnavailable, with the last lines that it logged, if it has ended by itself.
  absl::Status CheckAlive();
  // Stop tells it to stop in order, Wait waits until it has. kInternal if it did not end well.
  void Stop();
  absl::Status Wait();
  bool runs() const { return pid_ > 0; }

  // kNotFound; kUnavailable if nobody answers; kUnknown with q's error.
  absl::StatusOr<Value> Ask(std::string_view process, std::string_view query) const;

  const std::string& name() const { return name_; }
  const std::string& folder() const { return folder_; }
  const std::vector<StackProcess>& processes() const { return processes_; }
  std::vector<std::string> ProcessesOf(std::string_view role) const;

  // The last lines of a process, or of all of them for ""; "" without any.
  std::string LogTail(std::string_view process, size_t lines) const;
  // Why it ended: its last warnings and errors, and the last lines of a process that died.
  std::string LastWords() const;
  // The last line of a process that has `text` in it; "" without any.
  std::string LastLogLine(std::string_view process, std::string_view text) const;
  std::string DataFile(std::string_view name) const {
    return folder_ + "/data/" + std::string(name);
  }
  // After Wait: rows in the log, as reading all of it says. kDataLoss if it finds any damage.
  absl::StatusOr<RowsByTable> RowsInLog() const;

 private:
  absl::Status ReadReadyFile();

  const std::string name_;
  const std::string folder_;
  std::vector<StackProcess> processes_;
  Pipe lifeline_;
  OwnedFd output_;
  pid_t pid_ = -1;
};

}  // namespace tickstack::loadtest
