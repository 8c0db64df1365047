#include "cli/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <thread>
#include <utility>

#include "base/status.h"
#include "wire/socket_address.h"

extern char** environ;

namespace tickstack {

OwnedFd& OwnedFd::operator=(OwnedFd&& other) noexcept {
  if (this != &other) {
    Reset();
    fd_ = other.Release();
  }
  return *this;
}

int OwnedFd::Release() { return std::exchange(fd_, -1); }

void OwnedFd::Reset() {
  if (fd_ >= 0) close(Release());
}

absl::StatusOr<Pipe> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  return Pipe{OwnedFd(ends[0]), OwnedFd(ends[1])};
}

absl::StatusOr<OwnedFd> ListenOn(const std::string& host, uint16_t port) {
  const wire::Address address{host, port, ""};
  TS_ASSIGN_OR_RETURN(const wire::SocketAddress where, wire::ToSocketAddress(address));
  OwnedFd listener(socket(where.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!listener.is_open()) return ErrnoStatus(errno, "socket");
  const int on = 1;
  setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(listener.get(), where.get(), where.size()) != 0 ||
      listen(listener.get(), SOMAXCONN) != 0) {
    return Unavailable("{}: {}", address.ToString(), Message(ErrnoStatus(errno, "listen")));
  }
  return listener;
}

uint16_t PortOf(const OwnedFd& socket) { return wire::LocalPortOf(socket.get()); }

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
  // Duplicating a descriptor onto itself is how posix_spawn takes close-on-exec off it.
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

  pid_t pid = -1;
  const int error = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return Internal("{}: {}", options.command[0], Message(ErrnoStatus(error, "start")));
  }
  return pid;
}

void DieWithParent(int parent_fd) {
  // The thread takes no signals: those are for the threads that expect them.
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
