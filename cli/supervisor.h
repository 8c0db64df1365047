#pragma once

// Keeps a stack of processes alive: starts them, waits until all answer, starts again the one that
// died, and stops them in order.
//
// The listening sockets belong to the supervisor and are inherited, so a child that is started
// again has the port that it had, and whoever connects meanwhile waits in the socket's queue
// instead of being refused. Every child also holds the read end of one pipe whose write end only
// the supervisor has: if the supervisor is killed, the children see it and stop.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/child_process.h"
#include "base/time.h"

namespace tickstack {

struct ProcessSpec {
  std::string name;
  std::string role;
  // Program and arguments; `--listen-fd N --ready-fd N --parent-fd N` is added.
  std::vector<std::string> command;
  OwnedFd listener;
  uint16_t port = 0;
  int stop_rank = 0;  // The lower ones stop first, those of one rank together.
  // Exit code 0 before it was told to stop is a good end. Otherwise it is a death like any other:
  // somebody else sent it the signal, and the stack is not whole without it.
  bool may_end = false;
};

struct SupervisorOptions {
  std::string log_folder;  // Folder of NAME.log for each process; empty: none.
  std::string ready_file;  // Written when all answer, and for each new pid; empty: none.
  bool restart = true;     // False: the stack stops when a child dies.
  int64_t run_ns = 0;      // Duration after all answered; 0: until a signal.
  int64_t stop_timeout_ns = 60 * kNsPerSecond;  // Then a child that does not stop is killed.
  int64_t first_pause_ns =
      kNsPerSecond / 10;  // Before a restart; doubles up to `longest_pause_ns`.
  int64_t longest_pause_ns = 5 * kNsPerSecond;
  bool forward_output = true;  // Lines of the children also go to our stderr.
};

// Threads: Run blocks and uses the calling thread, which should be the only one: it takes SIGINT,
// SIGTERM and SIGCHLD of the process.
class Supervisor {
 public:
  Supervisor(SupervisorOptions options, std::vector<ProcessSpec> specs);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Runs until SIGINT or SIGTERM (a second one kills), until all children ended well (may_end), or
  // until one failed before it ever answered. OK if all of them ended with exit code 0 when told
  // to; otherwise the first failure, with the child's name and its last
  // error line.
  absl::Status Run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack
