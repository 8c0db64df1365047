#pragma once

// Starts child processes, and ends them when their parent ends.

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/owned_fd.h"

namespace tickstack {

// A pipe. Both ends close on exec, so a child only has the ends that ChildOptions passes to it.
struct Pipe {
  OwnedFd read;
  OwnedFd write;
};
absl::StatusOr<Pipe> MakePipe();

// Returns the path of the running program.
absl::StatusOr<std::string> OwnProgram();

struct ChildOptions {
  std::vector<std::string> command;  // The program's path, then its arguments.
  // True: starts the program that runs now, even if its file was replaced since, for example by a
  // newer version. The path in `command` is then only the child's argv[0].
  bool same_program = false;
  int output_fd = -1;              // The child's stdout and stderr; its stdin is /dev/null.
  std::vector<int> inherited_fds;  // Descriptors that the child keeps open, with the same numbers.
};

// Starts a program in a process group of its own, so that Ctrl-C on the terminal reaches only the
// parent. The program has default signal handling, no blocked signals, and this process's
// environment without kServiceManagerVariables. If the program cannot be started, returns kInternal
// with the command.
absl::StatusOr<pid_t> SpawnChild(const ChildOptions& options);

// Called by a child with the read end of a pipe whose write end only its parent holds. When the
// parent ends for any reason, the process gets SIGTERM, and is ended after ten more seconds if it
// still runs. Starts a thread.
void DieWithParent(int parent_fd);

}  // namespace tickstack
