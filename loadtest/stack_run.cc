#include "loadtest/stack_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/status.h"
#include "base/time.h"
#include "loadtest/process_usage.h"
#include "tplog/tplog_check.h"
#include "wire/client.h"

namespace tickstack::loadtest {
namespace {

using namespace std::chrono_literals;

constexpr auto kAnswerAtMost = 60s;  // For rdbs with hundreds of millions of rows on busy machines.
constexpr uint64_t kReadyBytesMax = uint64_t{1} << 20;
constexpr std::streamoff kTailBytes = 16'384;
constexpr size_t kLastErrors = 6, kLastLines = 4;

// Returns the end of a file, starting at the beginning of a line.
std::string EndOf(const std::string& path, std::streamoff bytes) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return "";
  const std::streamoff size = file.tellg();
  file.seekg(std::max<std::streamoff>(0, size - bytes));
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (size > bytes) text.erase(0, text.find('\n') + 1);
  return text;
}

}  // namespace

StackRun::~StackRun() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

absl::Status StackRun::Start(std::string_view configuration) {
  TS_RETURN_IF_ERROR(CreateDirectories(folder_));
  std::ofstream file(folder_ + "/stack.toml");
  file << configuration;
  file.close();
  if (!file) return Annotate(ErrnoStatus(errno, "write"), folder_ + "/stack.toml");
  TS_ASSIGN_OR_RETURN(lifeline_, MakePipe());
  output_ = OwnedFd(open((folder_ + "/up.log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!output_.is_open()) return Annotate(ErrnoStatus(errno, "open"), folder_);
  TS_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  ChildOptions child;
  // A fixed date, so that a run across midnight is still one day.
  child.command = {program,
                   "up",
                   folder_ + "/stack.toml",
                   "--data",
                   folder_ + "/data",
                   "--date",
                   FormatDate(DayOf(SystemClock::Instance().NowNs())),
                   "--ports",
                   "0",
                   "--feeds-wait",
                   "--ready-file",
                   folder_ + "/ready.json",
                   "--parent-fd",
                   std::to_string(lifeline_.read.get())};
  child.output_fd = output_.get();
  child.inherited_fds = {lifeline_.read.get()};
  TS_ASSIGN_OR_RETURN(pid_, SpawnChild(child));
  return absl::OkStatus();
}

absl::StatusOr<bool> StackRun::IsReady() {
  if (!processes_.empty() && answered_ == processes_.size()) return true;
  TS_RETURN_IF_ERROR(CheckAlive());
  if (processes_.empty()) {
    std::error_code ignored;
    if (!std::filesystem::exists(folder_ + "/ready.json", ignored)) return false;
    TS_RETURN_IF_ERROR(ReadReadyFile());
  }
  for (; answered_ < processes_.size(); ++answered_) {
    const StackProcess& process = processes_[answered_];
    TS_ASSIGN_OR_RETURN(const Value pid, Ask(process.name, ".z.i"));
    if (!pid.is_atom_of(Type::kInt) || pid.as<int32_t>() != process.pid) {
      return Internal("{}: {}: .z.i: expected {}: another process answers on port {}", name_,
                      process.name, process.pid, process.port);
    }
  }
  return true;
}

uint64_t StackRun::ResidentBytes() const {
  if (pid_ <= 0) return 0;
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid_));
  uint64_t bytes = 0;
  for (pid_t pid = pid_; pid > 0;) {
    if (const std::optional<ProcessUsage> usage = UsageOf(pid)) bytes += usage->rss_bytes;
    if (!(children >> pid)) break;
  }
  return bytes;
}

absl::Status StackRun::ReadReadyFile() {
  const std::string path = folder_ + "/ready.json";
  TS_ASSIGN_OR_RETURN(const ByteBuffer bytes, ReadWholeFile(path, kReadyBytesMax));
  const auto json = nlohmann::json::parse(AsText(bytes.span()), nullptr, false);
  if (json.is_discarded()) return Internal("{}: not JSON", path);
  for (const auto& process : json["processes"]) {
    processes_.push_back({process["name"], process["role"], process["pid"], process["port"]});
  }
  return absl::OkStatus();
}

absl::Status StackRun::CheckAlive() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0) return absl::OkStatus();
  pid_ = -1;
  return Unavailable(
      "{}: its `tickstack up` exited during the test; expected it to run until stopped. End of its "
      "log:\n{}",
      name_, FailureText());
}

void StackRun::Stop() {
  if (pid_ > 0) kill(pid_, SIGTERM);
}

absl::Status StackRun::Wait() {
  if (pid_ <= 0) return absl::OkStatus();
  int wait_status = 0;
  waitpid(std::exchange(pid_, -1), &wait_status, 0);
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return absl::OkStatus();
  return Internal("{}: its `tickstack up` failed during shutdown. End of its log:\n{}", name_,
                  FailureText());
}

absl::StatusOr<Value> StackRun::Ask(std::string_view process, std::string_view query) const {
  return Request(process, Value::String(query), query);
}

absl::StatusOr<Value> StackRun::Call(std::string_view process, std::string_view function) const {
  return Request(process, Value::List({Value::Symbol(function), Value::List({})}), function);
}

absl::StatusOr<Value> StackRun::Request(std::string_view process, const Value& request,
                                        std::string_view text) const {
  for (const StackProcess& known : processes_) {
    if (known.name != process) continue;
    const wire::Address address{"127.0.0.1", known.port, ""};
    absl::StatusOr<Value> answer = wire::Ask(address, request, kAnswerAtMost);
    if (!answer.ok()) {
      return Annotate(answer.status(), fmt::format("{}: {}: {}", name_, process, text));
    }
    return answer;
  }
  return NotFound("{}: no process {}", name_, process);
}

std::vector<std::string> StackRun::ProcessesOf(std::string_view role) const {
  std::vector<std::string> names;
  for (const StackProcess& process : processes_) {
    if (process.role == role) names.push_back(process.name);
  }
  return names;
}

std::string StackRun::LogTail(std::string_view process, size_t lines) const {
  const std::string path =
      process.empty() ? folder_ + "/up.log" : fmt::format("{}/data/logs/{}.log", folder_, process);
  std::string text = EndOf(path, kTailBytes);
  while (text.ends_with('\n')) text.pop_back();
  size_t at = text.size();
  for (size_t i = 0; i < lines && at != std::string::npos && at > 0; ++i) {
    at = text.rfind('\n', at - 1);
  }
  return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
}

std::string StackRun::FailureText() const {
  constexpr size_t kLevel = 27;  // Where the level is in a line: after the time and a space.
  const std::string log = LogTail("", SIZE_MAX);
  std::vector<std::string> errors;
  for (size_t begin = 0; begin < log.size();) {
    const size_t end = std::min(log.find('\n', begin), log.size());
    const std::string line = log.substr(begin, end - begin);
    begin = end + 1;
    if (line.size() <= kLevel || (line[kLevel] != 'E' && line[kLevel] != 'W')) continue;
    errors.push_back(line);
    const size_t died = std::min(line.find(" died: "), line.find(" failed before "));
    // The supervisor's last line repeats why it ended.
    if (died == std::string::npos || line.find(" up ends ") != std::string::npos) continue;
    const size_t name = line.rfind(' ', died - 1) + 1;
    errors.push_back(LogTail(line.substr(name, died - name), kLastLines));
  }
  if (errors.empty()) return LogTail("", kLastErrors);
  std::string words;
  for (size_t i = errors.size() - std::min(errors.size(), kLastErrors); i < errors.size(); ++i) {
    words += fmt::format("{}{}", words.empty() ? "" : "\n", errors[i]);
  }
  return words;
}

absl::StatusOr<RowsByTable> StackRun::RowsInLog() const {
  RowsByTable rows;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/data/tplog", error)) {
    // Each log has an index and a state beside it.
    if (entry.path().extension() == ".idx" || entry.path().extension() == ".state") continue;
    TS_ASSIGN_OR_RETURN(const tplog::TplogReport report, tplog::CheckTplog(entry.path()));
    if (report.problem_count > 0) {
      return DataLoss("{}: {}", entry.path().string(), report.problems.front().text);
    }
    for (const auto& [table, count] : report.totals.rows) {
      rows[table] += static_cast<int64_t>(count);
    }
  }
  if (error) return NotFound("{}/data/tplog: {}", folder_, error.message());
  return rows;
}

}  // namespace tickstack::loadtest
