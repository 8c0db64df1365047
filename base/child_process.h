#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace tickstack {

// Both ends close on exec, so that only the children that are given one have it.
struct Pipe {
  OwnedFd read;
  OwnedFd write;
};
absl::StatusOr<Pipe> MakePipe();

// The path of the program that runs.
absl::StatusOr<std::string> OwnProgram();

struct ChildOptions {
  std::vector<std::string> command;  // The program's path, then its arguments.
  int output_fd = -1;                // Becomes its stdout and stderr; stdin is /dev/null.
  std::vector<int> inherited_fds;    // Kept open in the child, under the same numbers.
};

// Starts a program in a process group of its own, so that Ctrl-C on the terminal reaches only us,
// with default signal handling and nothing blocked. kInternal with the command if it cannot be
// started.
absl::StatusOr<pid_t> SpawnChild(const ChildOptions& options);

// Called by a child with the read end of a pipe whose write end only its parent holds: when the
// parent is gone, for whatever reason, the process gets SIGTERM, and ten seconds later it ends.
// Starts a thread.
void DieWithParent(int parent_fd);

}  // namespace tickstack
