#include "cli/demo_stack.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/status.h"
#include "base/time.h"
#include "wire/client.h"
#include "wire/tplog_check.h"

namespace tickstack {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kStartAtMostNs = 60 * kNsPerSecond;

std::string FileText(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

DemoStack::~DemoStack() {
  if (pid_ > 0) {
    kill(pid_, SIGTERM);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!keep_ && !folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

absl::Status DemoStack::Start(std::string_view configuration) {
  const char* parent = std::getenv("TMPDIR");
  folder_ = fmt::format("{}/tickstack-demo-XXXXXX", parent != nullptr ? parent : "/tmp");
  if (mkdtemp(folder_.data()) == nullptr) {
    return Annotate(ErrnoStatus(errno, "mkdtemp"), std::exchange(folder_, {}));
  }
  std::ofstream(folder_ + "/stack.toml") << configuration;
  TS_RETURN_IF_ERROR(Spawn());
  const int64_t give_up_ns = MonotonicNs() + kStartAtMostNs;
  while (!std::filesystem::exists(folder_ + "/ready.json")) {
    TS_RETURN_IF_ERROR(CheckAlive());
    if (MonotonicNs() > give_up_ns) return Unavailable("the stack was not ready within 60 s");
    std::this_thread::sleep_for(20ms);
  }
  return ReadReadyFile();
}

absl::Status DemoStack::Spawn() {
  TS_ASSIGN_OR_RETURN(lifeline_, MakePipe());
  output_ = OwnedFd(open((folder_ + "/up.log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (!output_.is_open()) return Annotate(ErrnoStatus(errno, "open"), folder_);
  TS_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  ChildOptions child;
  // A fixed date: a demo across midnight is still one day.
  child.command = {program,
                   "up",
                   folder_ + "/stack.toml",
                   "--data",
                   folder_ + "/data",
                   "--date",
                   FormatDate(DayOf(SystemClock::Instance().NowNs())),
                   "--ports",
                   "0",
                   "--ready-file",
                   folder_ + "/ready.json",
                   "--parent-fd",
                   std::to_string(lifeline_.read.get())};
  child.output_fd = output_.get();
  child.inherited_fds = {lifeline_.read.get()};
  TS_ASSIGN_OR_RETURN(pid_, SpawnChild(child));
  return absl::OkStatus();
}

absl::Status DemoStack::ReadReadyFile() {
  const auto json = nlohmann::json::parse(FileText(folder_ + "/ready.json"), nullptr, false);
  if (json.is_discarded()) return Internal("{}/ready.json: not JSON", folder_);
  for (const auto& process : json["processes"]) {
    processes_.push_back({process["name"], process["pid"], process["port"]});
  }
  return absl::OkStatus();
}

absl::Status DemoStack::CheckAlive() {
  if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0) return absl::OkStatus();
  pid_ = -1;
  return Unavailable("the stack ended by itself; its log:\n{}", FileText(folder_ + "/up.log"));
}

absl::Status DemoStack::Stop() {
  kill(pid_, SIGTERM);
  int wait_status = 0;
  waitpid(std::exchange(pid_, -1), &wait_status, 0);
  if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return absl::OkStatus();
  return Internal("the stack did not stop well; its log:\n{}", FileText(folder_ + "/up.log"));
}

absl::StatusOr<Value> DemoStack::Ask(std::string_view process, std::string_view query) const {
  for (const DemoProcess& known : processes_) {
    if (known.name != process) continue;
    const wire::Address address{"127.0.0.1", known.port, ""};
    absl::StatusOr<Value> answer = wire::Ask(address, Value::String(query), 30s);
    if (!answer.ok()) return Annotate(answer.status(), fmt::format("{}: {}", process, query));
    return answer;
  }
  return NotFound("no process {}", process);
}

absl::StatusOr<RowsByTable> DemoStack::RowsInLog() const {
  RowsByTable rows;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ + "/data/tplog")) {
    if (entry.path().extension() == ".idx") continue;
    TS_ASSIGN_OR_RETURN(const wire::TplogReport report, wire::CheckTplog(entry.path()));
    if (report.problem_count > 0) {
      return DataLoss("{}: {}", entry.path().string(), report.problems.front().text);
    }
    for (const auto& [table, count] : report.totals.rows) {
      rows[table] += static_cast<int64_t>(count);
    }
  }
  return rows;
}

std::string DemoStack::ReadDataFile(std::string_view name) const {
  return FileText(fmt::format("{}/data/{}", folder_, name));
}

}  // namespace tickstack
