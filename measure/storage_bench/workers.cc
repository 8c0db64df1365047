#include "measure/storage_bench/workers.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "base/time.h"

namespace tickstack::measure::storage_bench {

struct WorkerProcesses::Command {
  enum class Kind : uint8_t { kPrepare, kGo, kEndSuite };
  Kind kind = Kind::kPrepare;
  size_t suite = 0;
  size_t test = 0;
};

struct WorkerProcesses::Reply {
  absl::StatusCode code = absl::StatusCode::kOk;
  Measurement measured;
  std::array<char, 600> error{};  // NUL-terminated.

  void Set(const absl::Status& status) {
    code = status.code();
    const std::string_view text = Message(status);
    std::copy_n(text.begin(), std::min(text.size(), error.size() - 1), error.begin());
  }
};

namespace {

// A worker's side: the suite that it is in, and the test that it is about to run.
class TestRunner {
 public:
  TestRunner(const Workspace& workspace, const std::vector<Suite>& suites)
      : workspace_(workspace), suites_(suites) {}

  absl::Status Prepare(size_t suite, size_t test) {
    if (suite_ != suite) {
      tests_ = suites_[suite].make(workspace_);
      suite_ = suite;
    }
    test_ = test;
    pages_ = Pages{};
    if (!tests_[test].prepare) return absl::OkStatus();
    TS_ASSIGN_OR_RETURN(pages_, tests_[test].prepare());
    return absl::OkStatus();
  }

  absl::StatusOr<Measurement> Run() {
    const Test& test = tests_[test_];
    Measurement measured;
    measured.pages = pages_;
    // kdb+'s epoch begins at midnight.
    measured.begin_ns = SystemClock::Instance().NowNs() % kNsPerDay;
    const int64_t begin_ns = MonotonicNs();
    TS_ASSIGN_OR_RETURN(measured.work, test.run());
    measured.elapsed_ns = MonotonicNs() - begin_ns;
    if (test.finish) TS_RETURN_IF_ERROR(test.finish());
    return measured;
  }

  void EndSuite() {
    tests_.clear();
    suite_.reset();
  }

 private:
  const Workspace& workspace_;
  const std::vector<Suite>& suites_;
  std::optional<size_t> suite_;
  std::vector<Test> tests_;
  size_t test_ = 0;
  Pages pages_;
};

absl::Status MakeDirectories(const Workspace& workspace) {
  for (const std::string& path : {workspace.directory, workspace.PathOf("tbl")}) {
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      return Annotate(ErrnoStatus(errno, "mkdir"), path);
    }
  }
  return absl::OkStatus();
}

}  // namespace

void WorkerProcesses::Serve(int socket, const Options& options, const std::vector<Suite>& suites,
                            size_t number) {
  std::unique_ptr<WorkerPool> threads;
  if (options.threads > 1) threads = std::make_unique<WorkerPool>(options.threads - 1);
  const Workspace workspace{.directory = options.directory + "/" + std::to_string(number),
                            .sizes = options.sizes,
                            .seconds = options.seconds,
                            .threads = threads.get()};
  const absl::Status made = MakeDirectories(workspace);
  TestRunner runner(workspace, suites);
  Command command;
  while (::recv(socket, &command, sizeof(command), 0) == static_cast<ssize_t>(sizeof(command))) {
    Reply reply;
    if (!made.ok()) {
      reply.Set(made);
    } else if (command.kind == Command::Kind::kPrepare) {
      reply.Set(runner.Prepare(command.suite, command.test));
    } else if (command.kind == Command::Kind::kGo) {
      const absl::StatusOr<Measurement> measured = runner.Run();
      reply.Set(measured.status());
      if (measured.ok()) reply.measured = *measured;
    } else {
      runner.EndSuite();
    }
    if (::send(socket, &reply, sizeof(reply), MSG_NOSIGNAL) < 0) break;
  }
  std::_Exit(EXIT_SUCCESS);  // The parent's files and buffers are not this process's to end.
}

absl::StatusOr<WorkerProcesses> WorkerProcesses::Start(const Options& options,
                                                       const std::vector<Suite>& suites,
                                                       const HeldSignals& signals) {
  WorkerProcesses started(signals);
  const pid_t parent = ::getpid();
  for (size_t number = 0; number < options.processes; ++number) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
      return ErrnoStatus(errno, "socketpair");
    }
    OwnedFd own(ends[0]);
    const OwnedFd of_worker(ends[1]);
    const pid_t pid = ::fork();
    if (pid < 0) return ErrnoStatus(errno, "fork");
    if (pid == 0) {
      // The parent kills its workers; this is for a parent that was itself killed.
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) std::_Exit(EXIT_FAILURE);
      own.Reset();
      for (Worker& earlier : started.workers_) earlier.socket.Reset();
      Serve(of_worker.get(), options, suites, number + 1);
    }
    started.workers_.push_back({pid, std::move(own)});
  }
  return started;
}

WorkerProcesses::~WorkerProcesses() {
  for (const Worker& worker : workers_) ::kill(worker.pid, SIGKILL);
  for (const Worker& worker : workers_) {
    while (::waitpid(worker.pid, nullptr, 0) < 0 && errno == EINTR) continue;
  }
}

absl::StatusOr<std::vector<Measurement>> WorkerProcesses::Run(size_t suite, size_t test,
                                                              absl::FunctionRef<void()> before_go) {
  TS_RETURN_IF_ERROR(Ask({Command::Kind::kPrepare, suite, test}).status());
  before_go();
  TS_ASSIGN_OR_RETURN(const std::vector<Reply> replies, Ask({Command::Kind::kGo, suite, test}));
  std::vector<Measurement> measurements;
  for (const Reply& reply : replies) measurements.push_back(reply.measured);
  return measurements;
}

absl::Status WorkerProcesses::EndSuite() { return Ask({Command::Kind::kEndSuite}).status(); }

absl::StatusOr<std::vector<WorkerProcesses::Reply>> WorkerProcesses::Ask(const Command& command) {
  TS_RETURN_IF_ERROR(Tell(command));
  TS_ASSIGN_OR_RETURN(std::vector<Reply> replies, Answers());
  for (const Reply& reply : replies) {
    if (reply.code != absl::StatusCode::kOk) return absl::Status(reply.code, reply.error.data());
  }
  return replies;
}

absl::Status WorkerProcesses::Tell(const Command& command) {
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (::send(workers_[i].socket.get(), &command, sizeof(command), MSG_NOSIGNAL) < 0) {
      return Fate(i);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<WorkerProcesses::Reply>> WorkerProcesses::Answers() {
  std::vector<Reply> replies(workers_.size());
  std::vector<pollfd> waiting;
  for (const Worker& worker : workers_) waiting.push_back({worker.socket.get(), POLLIN, 0});
  waiting.push_back({signals_.fd(), POLLIN, 0});
  size_t missing = workers_.size();
  while (missing > 0) {
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
      return ErrnoStatus(errno, "poll");
    }
    TS_RETURN_IF_ERROR(signals_.Check());
    for (size_t i = 0; i < workers_.size(); ++i) {
      if (waiting[i].fd < 0 || waiting[i].revents == 0) continue;
      TS_ASSIGN_OR_RETURN(replies[i], AnswerOf(i));
      waiting[i].fd = -1;  // poll ignores it from now on.
      --missing;
    }
  }
  return replies;
}

absl::StatusOr<WorkerProcesses::Reply> WorkerProcesses::AnswerOf(size_t worker) {
  Reply reply;
  const ssize_t got = ::recv(workers_[worker].socket.get(), &reply, sizeof(reply), 0);
  if (got != static_cast<ssize_t>(sizeof(reply))) return Fate(worker);
  return reply;
}

// Says how a worker ended that should not have.
absl::Status WorkerProcesses::Fate(size_t worker) const {
  siginfo_t info{};
  // Its end is left to be waited for, by the destructor.
  (void)::waitid(P_PID, static_cast<id_t>(workers_[worker].pid), &info, WEXITED | WNOWAIT);
  if (info.si_code == CLD_EXITED) {
    return Internal("process {} ended with exit code {}", worker + 1, info.si_status);
  }
  const char* const name = ::sigabbrev_np(info.si_status);
  return Internal("process {} was killed by SIG{}", worker + 1, name == nullptr ? "?" : name);
}

}  // namespace tickstack::measure::storage_bench
