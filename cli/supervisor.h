#pragma once

// Keeps a stack of processes alive: starts them, waits until all answer, restarts those that die or
// hang, and stops them in order.
//
// The supervisor owns the listening sockets, and its children inherit them. So a restarted child
// keeps its port, and clients that connect meanwhile wait in the socket's queue instead of being
// refused. Every child also holds the read end of a pipe whose write end only the supervisor has:
// if the supervisor is killed, the children notice and stop.
//
// A child that ends with wire::kExitHandedOver has a successor, which has its socket and which this
// supervisor did not start. So the child is not restarted, and its end is no failure.
//
// SIGUSR1 opens the log files again, after a program has renamed them (logrotate). No line is lost:
// those before are in the renamed file, those after in the new one.
//
// SIGHUP calls `reload` of the options. If that returns true, the children that answer get SIGHUP,
// too, and the others when they answer.
//
// A child whose event loop hangs is noticed by its silence (wire/heartbeat.h): it is ended by
// SIGABRT, by SIGKILL if that is not enough, and restarted. The service manager, if there is one,
// is told when all answer, what the children do, and that the supervisor's own loop runs.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/child_process.h"
#include "base/service_manager.h"
#include "base/time.h"

namespace tickstack::cli {

struct ProcessSpec {
  std::string name;
  std::string role;
  // Program and arguments; Run adds `--listen-fd N --ready-fd N --parent-fd N`, and `--heartbeat-ms
  // N` if it watches.
  std::vector<std::string> command;
  bool same_program = false;  // As in ChildOptions.
  OwnedFd listener;
  uint16_t port = 0;
  int stop_rank = 0;  // Lower ranks stop first; processes of one rank stop together.
  // True if the process may end with exit code 0 before it is told to stop. If false, such an end
  // counts as a death, because the stack is incomplete without this process.
  bool may_end = false;
};

struct SupervisorOptions {
  std::string log_folder;  // Folder of NAME.log for each process; empty: no logs.
  std::string ready_file;  // Written when all answer, and for each new pid; empty: none.
  std::string page;        // URL that the message `ready` names; empty: none.
  bool restart = true;     // False: the stack stops when a child dies.
  int64_t run_ns = 0;      // Duration after all answered; 0: until a signal.
  // Time after which a child that does not stop is killed.
  int64_t stop_timeout_ns = 60 * kNsPerSecond;
  // Silence after which a child that has answered counts as hung; 0: no limit.
  int64_t hang_timeout_ns = 0;
  int64_t abort_timeout_ns = 10 * kNsPerSecond;  // From SIGABRT to SIGKILL.
  ServiceManager service_manager;                // As named by the environment.
  // Pause before a restart; doubles up to `longest_pause_ns`.
  int64_t first_pause_ns = kNsPerSecond / 10;
  int64_t longest_pause_ns = 5 * kNsPerSecond;
  // Loads the configuration again; false if it cannot be used. nullptr: SIGHUP stops the stack.
  std::function<bool()> reload = nullptr;
  bool forward_output = true;  // True: lines of the children are also written to stderr.
};

// Threads: Run blocks and uses the calling thread, which should be the only one, because it handles
// the process's SIGINT, SIGTERM, SIGHUP, SIGUSR1 and SIGCHLD.
class Supervisor {
 public:
  Supervisor(SupervisorOptions options, std::vector<ProcessSpec> specs);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Runs until SIGINT or SIGTERM (a second one kills), until all children have ended regularly
  // (may_end), or until one fails before it has answered. Returns OK if all of them ended with exit
  // code 0 when told to; otherwise the first failure, with the child's name and its last error
  // line.
  absl::Status Run();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tickstack::cli
