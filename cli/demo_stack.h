#pragma once

// The stack that the demo runs: a child process `tickstack up` in a temporary folder.

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

namespace tickstack {

// Rows by table name.
using RowsByTable = std::map<std::string, int64_t>;

struct DemoProcess {
  std::string name;
  pid_t pid;
  uint16_t port;
};

// Threads: one owner.
class DemoStack {
 public:
  DemoStack() = default;
  ~DemoStack();  // Stops what runs and removes the folder, unless it is to be kept.
  DemoStack(const DemoStack&) = delete;
  DemoStack& operator=(const DemoStack&) = delete;

  // Starts it, and returns when all of its processes answer.
  absl::Status Start(std::string_view configuration);
  // kUnavailable if it has ended by itself.
  absl::Status CheckAlive();
  // Stops it in order and waits. kInternal if it did not end well.
  absl::Status Stop();
  void Keep() { keep_ = true; }

  absl::StatusOr<Value> Ask(std::string_view process, std::string_view query) const;
  const std::vector<DemoProcess>& processes() const { return processes_; }
  const std::string& folder() const { return folder_; }

  // After Stop: rows in the log, as reading all of it says. kDataLoss if it finds any damage.
  absl::StatusOr<RowsByTable> RowsInLog() const;
  // After Stop: a file of the data directory; empty if there is none.
  std::string ReadDataFile(std::string_view name) const;

 private:
  absl::Status Spawn();
  absl::Status ReadReadyFile();

  std::string folder_;
  std::vector<DemoProcess> processes_;
  Pipe lifeline_;
  OwnedFd output_;
  pid_t pid_ = -1;
  bool keep_ = false;
};

}  // namespace tickstack
