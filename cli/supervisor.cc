#include "cli/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/log_line.h"
#include "base/logging.h"
#include "base/status.h"
#include "wire/hand_over.h"

namespace tickstack::cli {
namespace {

constexpr size_t kLongestLine = size_t{64} << 10;
constexpr size_t kLongestError = 1000;  // Bytes of a child's last line in an error.
constexpr size_t kLevelAt = 27;         // Column of the level in our log lines.
// After this run time, a child restarts immediately.
constexpr int64_t kStable = 30 * kNsPerSecond;
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

enum class State {
  kStarting,  // Runs and has not answered yet.
  kReady,     // Runs and answers.
  kPausing,   // Died, and is started again at `restart_ns`.
  kEnded,     // Ended and is not started again.
};

struct Process {
  ProcessSpec spec;
  State state = State::kEnded;
  pid_t pid = -1;
  OwnedFd output;  // Its stdout and stderr.
  OwnedFd ready;
  OwnedFd log;
  std::string line;        // Start of a line that is not complete yet.
  std::string last_error;  // The last line of this run that has level E, or is not in our format.
  bool was_ready = false;
  bool told_to_stop = false;
  bool must_reload = false;  // The configuration changed before it answered.
  bool aborted = false;      // SIGABRT was sent, because it hung.
  int64_t started_ns = 0;
  int64_t alive_ns = 0;  // The last sign of life since it answered.
  int64_t restart_ns = kNever;
  int64_t kill_ns = kNever;
  int64_t pause_ns = 0;

  bool runs() const { return state == State::kStarting || state == State::kReady; }
};

// True if a process ended because another one has taken its place.
bool HandedOver(int wait_status) {
  return WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == wire::kExitHandedOver;
}

// Returns how a process failed; nullopt if it ended regularly.
std::optional<std::string> FailureOf(int wait_status) {
  if (WIFEXITED(wait_status)) {
    if (WEXITSTATUS(wait_status) == 0) return std::nullopt;
    return fmt::format("exit_code={}", WEXITSTATUS(wait_status));
  }
  const int number = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(number);
  return fmt::format("signal=SIG{}", name != nullptr ? name : std::to_string(number));
}

// A line of a child.
struct Line {
  std::string text;   // As it is written, without a newline.
  std::string error;  // What went wrong, if the line says so.
};

// Our own lines have time and name; any other line (such as a sanitizer's report) gets the name.
Line TakeLine(std::string_view name, std::string_view line) {
  if (line.starts_with("{\"time\":\"")) {
    return {std::string(line), WordsOfJsonLogLine(line, "error")};
  }
  if (line.size() > 20 && line[4] == '-' && line[10] == 'T' && line[19] == '.') {
    Line taken{std::string(line), {}};
    if (line.size() <= kLevelAt || line[kLevelAt] != 'E') return taken;
    const size_t name_end = line.find(' ', kLevelAt + 2);
    taken.error = line.substr(name_end == std::string_view::npos ? 0 : name_end + 1);
    return taken;
  }
  if (CurrentLogFormat() == LogFormat::kText) {
    return {fmt::format("{} | {}", name, line), std::string(line)};
  }
  const int64_t now_ns = SystemClock::Instance().NowNs() + kUnixNsOfKdbEpoch;
  return {JsonLogLine({now_ns, "info", name}, "{}", fmt::make_format_args(line)),
          std::string(line)};
}

// Never blocks: a paused terminal (Ctrl-S) must not stop the stack. Lines that do not fit are only
// in the log files.
void WriteIfPossible(int fd, std::string_view text) {
  pollfd writable{fd, POLLOUT, 0};
  if (poll(&writable, 1, 0) != 1 || (writable.revents & POLLOUT) == 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, text.data(), text.size());
}

}  // namespace

struct Supervisor::Impl {
  SupervisorOptions options;
  std::vector<Process> processes;
  Pipe lifeline;
  OwnedFd signals;
  bool all_answered = false;
  bool stopping = false;
  int64_t stop_ns = kNever;
  int64_t pass_ns = 0;  // When this loop ran last.
  int64_t watchdog_due_ns = kNever;
  std::string told;     // The last status that the service manager was told.
  absl::Status result;  // The first failure.

  // Interval of a child's heartbeats: a few may be late before it counts as hung.
  int64_t HeartbeatNs() const { return options.hang_timeout_ns / 4; }
  absl::Status Prepare();
  absl::Status OpenLog(Process& process) const;
  void ReopenLogs();
  void Reload();
  absl::Status Start(Process& process);
  absl::Status WriteReadyFile() const;
  void Fail(const absl::Status& status);
  void Stop(std::string_view why);
  void StopNextRank();
  void KillAll();
  void TakeSignals();
  void TakeOutput(Process& process);
  void TakeReady(Process& process);
  void Reap();
  void OnDeath(Process& process, int wait_status);
  void AbortIfHung(Process& process, int64_t now);
  void RunDueActions(int64_t now);
  int64_t NextDue() const;
  void WaitForEvents();
  void Forward(Process& process, std::string_view line);
  void TellServiceManager(int64_t now);
  std::string StatusText() const;
  bool Done() const {
    return std::all_of(processes.begin(), processes.end(),
                       [](const Process& p) { return p.state == State::kEnded; });
  }
};

absl::Status Supervisor::Impl::Prepare() {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD}) {
    sigaddset(&ours, number);
    signal(number, SIG_DFL);  // A shell starts background jobs with SIGINT ignored.
  }
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_BLOCK, &ours, nullptr);
  signals = OwnedFd(signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.is_open()) return ErrnoStatus(errno, "signalfd");
  TS_ASSIGN_OR_RETURN(lifeline, MakePipe());
  if (options.service_manager.watchdog_ns() > 0) watchdog_due_ns = 0;
  if (!options.ready_file.empty()) unlink(options.ready_file.c_str());  // Left by an earlier run.
  if (options.log_folder.empty()) return absl::OkStatus();

  TS_RETURN_IF_ERROR(CreateDirectories(options.log_folder));
  for (Process& process : processes) TS_RETURN_IF_ERROR(OpenLog(process));
  return absl::OkStatus();
}

// Opens a log file in place of the one that is open. After an error, that one stays.
absl::Status Supervisor::Impl::OpenLog(Process& process) const {
  const std::string path = fmt::format("{}/{}.log", options.log_folder, process.spec.name);
  OwnedFd log(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!log.is_open()) return Annotate(ErrnoStatus(errno, "open"), path);
  process.log = std::move(log);
  return absl::OkStatus();
}

void Supervisor::Impl::ReopenLogs() {
  if (options.log_folder.empty()) return;
  for (Process& process : processes) {
    const absl::Status opened = OpenLog(process);
    if (!opened.ok()) {
      LogWarn("log file not opened again, its lines go to the old one error=\"{}\"",
              Message(opened));
    }
  }
  LogInfo("log files opened again folder={}", options.log_folder);
}

absl::Status Supervisor::Impl::Start(Process& process) {
  TS_ASSIGN_OR_RETURN(Pipe output, MakePipe());
  TS_ASSIGN_OR_RETURN(Pipe ready, MakePipe());
  ChildOptions child;
  child.command = process.spec.command;
  child.output_fd = output.write.get();
  for (const auto& [flag, fd] : {std::pair("--listen-fd", process.spec.listener.get()),
                                 std::pair("--ready-fd", ready.write.get()),
                                 std::pair("--parent-fd", lifeline.read.get())}) {
    if (fd < 0) continue;
    child.command.insert(child.command.end(), {flag, std::to_string(fd)});
    child.inherited_fds.push_back(fd);
  }
  if (options.hang_timeout_ns > 0) {
    const int64_t heartbeat_ms = std::max<int64_t>(1, HeartbeatNs() / 1'000'000);
    child.command.insert(child.command.end(), {"--heartbeat-ms", std::to_string(heartbeat_ms)});
  }
  child.same_program = process.spec.same_program;
  TS_ASSIGN_OR_RETURN(process.pid, SpawnChild(child));
  fcntl(output.read.get(), F_SETFL, O_NONBLOCK);
  fcntl(ready.read.get(), F_SETFL, O_NONBLOCK);
  process.output = std::move(output.read);
  process.ready = std::move(ready.read);
  process.state = State::kStarting;
  process.aborted = false;
  process.started_ns = MonotonicNs();
  process.last_error.clear();
  process.restart_ns = kNever;
  LogInfo("started name={} role={} pid={} port={}", process.spec.name, process.spec.role,
          process.pid, process.spec.port);
  return absl::OkStatus();
}

absl::Status Supervisor::Impl::WriteReadyFile() const {
  if (options.ready_file.empty()) return absl::OkStatus();
  nlohmann::json list = nlohmann::json::array();
  for (const Process& process : processes) {
    list.push_back({{"name", process.spec.name},
                    {"role", process.spec.role},
                    {"pid", process.pid},
                    {"port", process.spec.port}});
  }
  const std::string text = nlohmann::json{{"processes", list}}.dump() + "\n";
  const std::string next = options.ready_file + ".next";
  {
    TS_ASSIGN_OR_RETURN(File file, File::OpenOrCreate(next));
    TS_RETURN_IF_ERROR(file.Truncate(0));
    TS_RETURN_IF_ERROR(file.WriteAt(0, AsBytes(text)));
  }
  return RenameReplacing(next, options.ready_file);
}

void Supervisor::Impl::Fail(const absl::Status& status) {
  LogError("{}", Message(status));
  if (result.ok()) result = status;
}

void Supervisor::Impl::Stop(std::string_view why) {
  if (stopping) return;
  stopping = true;
  LogInfo("stopping reason={}", why);
  for (Process& process : processes) {
    if (process.state == State::kPausing) process.state = State::kEnded;
  }
  StopNextRank();
}

// Stops the running processes of the lowest rank, unless they have been told already.
void Supervisor::Impl::StopNextRank() {
  int rank = std::numeric_limits<int>::max();
  for (const Process& process : processes) {
    if (process.runs()) rank = std::min(rank, process.spec.stop_rank);
  }
  for (Process& process : processes) {
    if (!process.runs() || process.spec.stop_rank != rank || process.told_to_stop) continue;
    process.told_to_stop = true;
    process.kill_ns = MonotonicNs() + options.stop_timeout_ns;
    kill(process.pid, SIGTERM);
  }
}

void Supervisor::Impl::KillAll() {
  for (Process& process : processes) {
    if (process.runs()) kill(process.pid, SIGKILL);
  }
}

void Supervisor::Impl::Reload() {
  if (!options.reload()) return;
  for (Process& process : processes) {
    if (process.state == State::kReady) kill(process.pid, SIGHUP);
    process.must_reload = process.state == State::kStarting;
  }
}

void Supervisor::Impl::TakeSignals() {
  signalfd_siginfo info{};
  while (read(signals.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    const auto number = static_cast<int>(info.ssi_signo);
    if (number == SIGCHLD) continue;  // Reap() checks all of them.
    if (number == SIGUSR1) {
      ReopenLogs();
    } else if (number == SIGHUP && options.reload) {
      Reload();
    } else if (stopping) {
      Fail(Internal("killed by a second SIG{}", sigabbrev_np(number)));
      KillAll();
    } else {
      Stop(fmt::format("SIG{}", sigabbrev_np(number)));
    }
  }
}

void Supervisor::Impl::Forward(Process& process, std::string_view line) {
  const Line taken = TakeLine(process.spec.name, line);
  if (!taken.error.empty()) process.last_error = taken.error;
  const std::string text = taken.text + "\n";
  if (process.log.is_open() && write(process.log.get(), text.data(), text.size()) < 0) {
    static LogLimit limit(10 * kNsPerSecond);
    if (limit.Pass()) {
      LogWarn("log file of {} not written error={}", process.spec.name, std::strerror(errno));
    }
  }
  if (options.forward_output) WriteIfPossible(STDERR_FILENO, text);
}

void Supervisor::Impl::TakeOutput(Process& process) {
  char buffer[16384];
  while (process.output.is_open()) {
    const ssize_t bytes = read(process.output.get(), buffer, sizeof(buffer));
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0 && errno == EAGAIN) return;
    if (bytes <= 0) {
      process.output.Reset();
      if (!process.line.empty()) Forward(process, std::exchange(process.line, {}));
      return;
    }
    process.line.append(buffer, static_cast<size_t>(bytes));
    size_t begin = 0;
    for (size_t end = 0; (end = process.line.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      Forward(process, std::string_view(process.line).substr(begin, end - begin));
    }
    process.line.erase(0, begin);
    if (process.line.size() > kLongestLine) Forward(process, std::exchange(process.line, {}));
  }
}

void Supervisor::Impl::TakeReady(Process& process) {
  char buffer[4096];
  const ssize_t bytes = read(process.ready.get(), buffer, sizeof(buffer));
  if (bytes < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (bytes <= 0 || options.hang_timeout_ns == 0) process.ready.Reset();
  if (bytes > 0) process.alive_ns = MonotonicNs();
  if (bytes <= 0 || process.state != State::kStarting) return;
  process.state = State::kReady;
  if (std::exchange(process.must_reload, false)) kill(process.pid, SIGHUP);
  process.was_ready = true;
  const bool all =
      std::all_of(processes.begin(), processes.end(), [](const Process& p) { return p.was_ready; });
  if (!all) return;
  if (!all_answered) {
    all_answered = true;
    LogInfo("ready processes={} page={}", processes.size(),
            options.page.empty() ? "none" : options.page);
    if (options.run_ns > 0) stop_ns = MonotonicNs() + options.run_ns;
  }
  if (const absl::Status status = WriteReadyFile(); !status.ok()) {
    Fail(status);
    Stop("ready file");
  }
}

void Supervisor::Impl::Reap() {
  for (Process& process : processes) {
    if (!process.runs()) continue;
    int wait_status = 0;
    if (waitpid(process.pid, &wait_status, WNOHANG) != process.pid) continue;
    TakeOutput(process);  // Its last lines.
    OnDeath(process, wait_status);
  }
}

void Supervisor::Impl::OnDeath(Process& process, int wait_status) {
  std::optional<std::string> failure = FailureOf(wait_status);
  if (!failure.has_value() && !process.spec.may_end && !stopping) failure = "exit_code=0";
  if (!process.line.empty()) Forward(process, std::exchange(process.line, {}));
  if (failure.has_value() && !process.last_error.empty()) {
    *failure += ": " + process.last_error.substr(0, kLongestError);
  }
  const std::string& name = process.spec.name;
  // If it answered and ended in the same instant, its report may still be in the pipe.
  if (process.ready.is_open()) TakeReady(process);
  // It had no handler yet, so the SIGTERM that told it to stop killed it.
  const bool stopped_early = process.told_to_stop && process.state == State::kStarting &&
                             WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGTERM;
  process.state = State::kEnded;
  process.ready.Reset();
  process.kill_ns = kNever;
  if (process.was_ready && HandedOver(wait_status)) {
    LogWarn("handed over, its successor is not of this stack: stop that yourself name={} port={}",
            name, process.spec.port);
  } else if (!failure.has_value() || stopped_early) {
    LogInfo("ended name={}", name);
  } else if (process.told_to_stop) {
    Fail(Internal("{} failed during shutdown: {}", name, *failure));
  } else if (!process.was_ready) {
    Fail(Internal("{} failed during startup: {}", name, *failure));
    Stop(fmt::format("failure of {}", name));
  } else if (!options.restart) {
    Fail(Internal("{} died: {}", name, *failure));
    Stop(fmt::format("death of {}", name));
  } else if (!stopping) {
    const int64_t now = MonotonicNs();
    const bool stable = now - process.started_ns > kStable;
    process.pause_ns = process.pause_ns == 0 || stable
                           ? options.first_pause_ns
                           : std::min(2 * process.pause_ns, options.longest_pause_ns);
    process.restart_ns = now + process.pause_ns;
    process.state = State::kPausing;
    LogWarn("died name={} {} restart_in_ms={}", name, *failure, process.pause_ns / 1'000'000);
    return;
  }
  process.spec.listener.Reset();  // From now on, connections are refused instead of waiting.
  if (stopping) StopNextRank();
}

// Ends a child that is silent. If this loop itself did not run for a while (the machine was paused,
// or a debugger stopped the stack), the children may have had no time either, and get it first.
void Supervisor::Impl::AbortIfHung(Process& process, int64_t now) {
  if (options.hang_timeout_ns == 0 || process.state != State::kReady || process.told_to_stop ||
      process.aborted || !process.ready.is_open()) {
    return;
  }
  if (now - pass_ns > options.hang_timeout_ns / 2) process.alive_ns = now;
  if (now < process.alive_ns + options.hang_timeout_ns) return;
  LogError("hung name={} pid={} silent_ms={}", process.spec.name, process.pid,
           (now - process.alive_ns) / 1'000'000);
  process.last_error = fmt::format("hung for {} ms", (now - process.alive_ns) / 1'000'000);
  process.aborted = true;
  process.kill_ns = now + options.abort_timeout_ns;
  kill(process.pid, SIGABRT);
  kill(process.pid, SIGCONT);  // A stopped process takes the signal only then.
}

std::string Supervisor::Impl::StatusText() const {
  size_t ready = 0, ended = 0;
  std::string others;
  for (const Process& process : processes) {
    if (process.state == State::kReady) {
      ++ready;
    } else if (process.state == State::kEnded && !stopping) {
      ++ended;
    } else if (process.state != State::kEnded) {
      others += fmt::format("{}{}", others.empty() ? "" : ", ", process.spec.name);
    }
  }
  if (stopping) return fmt::format("stopping, {} processes left", ready);
  std::string text = fmt::format("{} of {} processes answer", ready, processes.size() - ended);
  if (!others.empty()) text += fmt::format("; not yet: {}", others);
  return text;
}

void Supervisor::Impl::TellServiceManager(int64_t now) {
  const ServiceManager& manager = options.service_manager;
  if (!manager.listens()) return;
  std::string state = all_answered ? "READY=1\n" : "";
  if (stopping) state = "STOPPING=1\n";
  if (std::string text = fmt::format("{}STATUS={}", state, StatusText()); text != told) {
    manager.Notify(text);
    told = std::move(text);
  }
  if (now < watchdog_due_ns) return;
  manager.Notify("WATCHDOG=1");
  watchdog_due_ns = now + manager.watchdog_ns() / 2;
}

void Supervisor::Impl::RunDueActions(int64_t now) {
  if (now >= stop_ns && !stopping) Stop("--seconds elapsed");
  for (Process& process : processes) {
    if (process.state == State::kPausing && now >= process.restart_ns) {
      if (const absl::Status status = Start(process); !status.ok()) {
        process.state = State::kEnded;
        Fail(Annotate(status, process.spec.name));
        Stop(fmt::format("failure of {}", process.spec.name));
      }
    }
    AbortIfHung(process, now);
    if (process.runs() && now >= process.kill_ns) {
      LogWarn(
          "killed name={} timeout_ms={}", process.spec.name,
          (process.told_to_stop ? options.stop_timeout_ns : options.abort_timeout_ns) / 1'000'000);
      process.kill_ns = kNever;
      kill(process.pid, SIGKILL);
    }
  }
}

int64_t Supervisor::Impl::NextDue() const {
  int64_t due = std::min(stopping ? kNever : stop_ns, watchdog_due_ns);
  if (options.hang_timeout_ns > 0) due = std::min(due, pass_ns + HeartbeatNs());
  for (const Process& process : processes) {
    if (process.state == State::kPausing) due = std::min(due, process.restart_ns);
    if (process.runs()) due = std::min(due, process.kill_ns);
  }
  return due;
}

void Supervisor::Impl::WaitForEvents() {
  std::vector<pollfd> fds{{signals.get(), POLLIN, 0}};
  for (const Process& process : processes) {
    if (process.output.is_open()) fds.push_back({process.output.get(), POLLIN, 0});
    if (process.ready.is_open()) fds.push_back({process.ready.get(), POLLIN, 0});
  }
  const int64_t due = NextDue();
  int timeout_ms = -1;
  if (due != kNever) {
    const int64_t wait_ms = (due - MonotonicNs()) / 1'000'000 + 1;
    timeout_ms = static_cast<int>(std::clamp<int64_t>(wait_ms, 0, 3'600'000));
  }
  poll(fds.data(), fds.size(), timeout_ms);
}

Supervisor::Supervisor(SupervisorOptions options, std::vector<ProcessSpec> specs)
    : impl_(std::make_unique<Impl>()) {
  impl_->options = std::move(options);
  for (ProcessSpec& spec : specs) {
    impl_->processes.emplace_back();
    impl_->processes.back().spec = std::move(spec);
  }
}

Supervisor::~Supervisor() = default;

absl::Status Supervisor::Run() {
  Impl& impl = *impl_;
  TS_RETURN_IF_ERROR(impl.Prepare());
  for (Process& process : impl.processes) {
    if (const absl::Status status = impl.Start(process); !status.ok()) {
      impl.Fail(Annotate(status, process.spec.name));
      impl.Stop("failure to start");
      break;
    }
  }
  while (!impl.Done()) {
    impl.WaitForEvents();
    impl.TakeSignals();
    for (Process& process : impl.processes) {
      if (process.output.is_open()) impl.TakeOutput(process);
      if (process.ready.is_open()) impl.TakeReady(process);
    }
    impl.Reap();
    const int64_t now = MonotonicNs();
    impl.RunDueActions(now);
    impl.TellServiceManager(now);
    impl.pass_ns = now;
  }
  if (!impl.options.ready_file.empty()) unlink(impl.options.ready_file.c_str());
  LogInfo("stopped");
  return impl.result;
}

}  // namespace tickstack::cli
