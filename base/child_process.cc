#include "base/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>
#include <thread>

#include "base/service_manager.h"
#include "base/status.h"

extern char** environ;

namespace tickstack {
namespace {

// Returns the environment of a child, ended by a null pointer. Valid until the environment changes.
std::vector<char*> ChildEnvironment() {
  std::vector<char*> kept;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const bool removed = std::ranges::any_of(kServiceManagerVariables, [entry](auto name) {
      return entry.starts_with(name) && entry.substr(name.size()).starts_with('=');
    });
    if (!removed) kept.push_back(*each);
  }
  kept.push_back(nullptr);
  return kept;
}

}  // namespace

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  return Pipe{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

absl::StatusOr<std::string> OwnProgram() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  if (length < 0) return ErrnoStatus(errno, "/proc/self/exe");
  return std::string(path, static_cast<size_t>(length));
}

absl::StatusOr<pid_t> SpawnChild(const ChildOptions& options) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, options.output_fd, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, options.output_fd, STDERR_FILENO);
  // Duplicating a descriptor onto itself makes posix_spawn clear its close-on-exec flag.
  for (const int fd : options.inherited_fds) posix_spawn_file_actions_adddup2(&actions, fd, fd);

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);

  std::vector<char*> argv;
  argv.reserve(options.command.size() + 1);
  for (const std::string& argument : options.command) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);

  std::vector<char*> environment = ChildEnvironment();
  const char* const path = options.same_program ? "/proc/self/exe" : argv[0];
  pid_t pid = -1;
  const int error = posix_spawn(&pid, path, &actions, &attributes, argv.data(), environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Internal("{}: {}", options.command[0], Message(ErrnoStatus(error, "start")));
  }
  return pid;
}

void DieWithParent(int parent_fd) {
  // The thread blocks all signals, which are meant for other threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([parent_fd] {
    char byte = 0;
    while (read(parent_fd, &byte, 1) < 0 && errno == EINTR) {
    }
    kill(getpid(), SIGTERM);
    sleep(10);
    _exit(1);
  }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace tickstack
