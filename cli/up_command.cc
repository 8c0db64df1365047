#include "cli/up_command.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/status.h"
#include "cli/exit_codes.h"
#include "cli/reload.h"
#include "cli/shard_config.h"
#include "cli/stack_config.h"
#include "cli/supervisor.h"
#include "wire/listen_on.h"

namespace tickstack::cli {
namespace {

constexpr int kExitWrongStack = 2;

absl::StatusOr<StackConfig> ConfigOf(const UpOptions& options) {
  TS_ASSIGN_OR_RETURN(StackConfig config, LoadStackConfig(options.config));
  if (options.data) SetData(config, *options.data);
  if (options.date) TS_RETURN_IF_ERROR(Annotate(SetDate(config, *options.date), "--date"));
  if (options.no_feed) {
    config.feeds.clear();
    for (auto& monitor : config.monitors) monitor.feed.clear();
  }
  if (options.feeds_wait) {
    for (auto& monitor : config.monitors) monitor.feed.clear();
  }
  if (!ProcessesOf(config).empty()) return config;
  std::string sections;
  for (const ProcessKind& kind : kProcesses) {
    const char* const separator = sections.empty()                    ? ""
                                  : &kind == std::end(kProcesses) - 1 ? " or "
                                                                      : ", ";
    sections += fmt::format(
        "{}{}", separator,
        kind.several ? fmt::format("[[{}]]", kind.role) : fmt::format("[{}]", kind.role));
  }
  return InvalidArgument("{}: found no process: expected {}", options.config, sections);
}

// Binds every process's port, and stores the resulting port in the configuration.
absl::StatusOr<std::vector<OwnedFd>> BindAll(const std::vector<ListedProcess>& processes,
                                             std::optional<int> ports) {
  std::vector<OwnedFd> listeners;
  for (size_t i = 0; i < processes.size(); ++i) {
    wire::ListenerOptions& where = processes[i].process->listener();
    if (ports) where.port = *ports == 0 ? 0 : *ports + static_cast<int>(i);
    if (where.port > 65'535)
      return InvalidArgument("--ports: {} is not a port, expected 1 to 65535", where.port);
    absl::StatusOr<OwnedFd> listener =
        wire::ListenOn(where.host, static_cast<uint16_t>(where.port));
    if (!listener.ok()) return Annotate(listener.status(), processes[i].process->name());
    where.port = wire::PortOf(*listener);
    listeners.push_back(*std::move(listener));
  }
  return listeners;
}

// Feeds that no monitor of the stack starts, start at once.
void StartFeeds(StackConfig& config) {
  for (feed::FeedOptions& feed : config.feeds) {
    const std::string address = wire::AddressOf(feed.listener).ToString();
    const bool monitor_starts_it = std::ranges::any_of(
        config.monitors,
        [&address](const monitor::MonitorOptions& monitor) { return monitor.feed == address; });
    if (!monitor_starts_it) feed.start = true;
  }
}

absl::StatusOr<std::vector<ProcessSpec>> SpecsOf(const UpOptions& options, StackConfig& config) {
  TS_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  const std::vector<ListedProcess> processes = ProcessesOf(config);
  TS_ASSIGN_OR_RETURN(std::vector<OwnedFd> listeners, BindAll(processes, options.ports));
  ResolveAddresses(config);
  if (!options.feeds_wait) StartFeeds(config);
  std::vector<ProcessSpec> specs;
  for (size_t i = 0; i < processes.size(); ++i) {
    const auto& [kind, process] = processes[i];
    ProcessSpec spec;
    spec.name = process->name();
    spec.role = kind->role;
    spec.command = {program, spec.role, "--config", options.config, "--name", spec.name};
    spec.same_program = true;
    // It reads the file when it starts, also after the file has changed.
    spec.command.insert(spec.command.end(), {"--shard-map", ShardMapFlag(config)});
    for (std::string& flag : process->ChildFlags(config)) spec.command.push_back(std::move(flag));
    // Not all of them know the data directory.
    if (const std::string path = CredentialsPath(config); !path.empty()) {
      spec.command.insert(spec.command.end(), {"--credentials", path});
    }
    spec.listener = std::move(listeners[i]);
    spec.port = static_cast<uint16_t>(process->listener().port);
    spec.stop_rank = static_cast<int>(kind->stop_rank);
    spec.may_end = kind->may_end;
    specs.push_back(std::move(spec));
  }
  return specs;
}

// Returns the URL at which people can look at the stack's data: of the first rdb or, without one,
// of the first process that answers HTTP; empty if none does.
std::string PageOf(StackConfig& config) {
  std::string page;
  bool is_rdb = false;
  for (const auto& [kind, process] : ProcessesOf(config)) {
    const wire::ListenerOptions& listener = process->listener();
    const bool better = page.empty() || (kind->role == std::string_view("rdb") && !is_rdb);
    if (!wire::AnswersHttp(listener) || !better) continue;
    const std::string host = wire::AddressOf(listener).host;
    const bool v6 = host.find(':') != std::string::npos;
    page =
        fmt::format("{}://{}{}{}:{}/", listener.tls == wire::TlsUse::kRequired ? "https" : "http",
                    v6 ? "[" : "", host, v6 ? "]" : "", listener.port);
    is_rdb = kind->role == std::string_view("rdb");
  }
  return page;
}

// Loads the configuration again, and tells what has changed. False if it cannot be used.
bool Reload(const UpOptions& options, ConfigKeys& keys) {
  const absl::StatusOr<StackConfig> config = ConfigOf(options);
  absl::StatusOr<ConfigKeys> changed = ConfigKeysOf(options.config);
  if (!config.ok() || !changed.ok()) {
    LogError("configuration not loaded again, nothing has changed error=\"{}\"",
             Message(config.ok() ? changed.status() : config.status()));
    return false;
  }
  SetLogFormat(config->log_format);
  InitLogging(config->name, config->log_level);
  LogConfigChanges(keys, *changed);
  LogInfo("configuration loaded again path={}", options.config);
  keys = *std::move(changed);
  return true;
}

// Prints the reason as the last line on stderr. No configuration silences it.
int End(int exit_code, const absl::Status& why) {
  LogError("up ends exit_code={} error=\"{}\"", exit_code, Message(why));
  return exit_code;
}

}  // namespace

int RunUp(const UpOptions& options) {
  absl::StatusOr<StackConfig> config = ConfigOf(options);
  if (!config.ok()) return End(kExitWrongStack, config.status());
  SetLogFormat(config->log_format);
  InitLogging(config->name, config->log_level);
  RestrictFileAccess(config->readable_by);
  for (const std::string& warning : config->warnings) LogWarn("{}", warning);
  if (options.parent_fd >= 0) DieWithParent(options.parent_fd);
  if (const absl::Status secure = CheckSecurity(*config); !secure.ok()) {
    return End(kExitFailed, secure);
  }
  absl::StatusOr<std::vector<ProcessSpec>> specs = SpecsOf(options, *config);
  if (!specs.ok()) return End(kExitFailed, specs.status());
  SupervisorOptions supervisor;
  supervisor.log_folder = config->data + "/logs";
  supervisor.ready_file = options.ready_file;
  supervisor.page = PageOf(*config);
  supervisor.restart = config->restart;
  absl::StatusOr<ConfigKeys> keys = ConfigKeysOf(options.config);
  if (!keys.ok()) return End(kExitWrongStack, keys.status());
  // The end of a terminal ends the stack that was started on it.
  if (isatty(STDERR_FILENO) == 0) supervisor.reload = [&] { return Reload(options, *keys); };
  supervisor.hang_timeout_ns = supervisor.service_manager.watchdog_ns();
  supervisor.run_ns = static_cast<int64_t>(options.seconds * static_cast<double>(kNsPerSecond));
  const absl::Status ended = Supervisor(std::move(supervisor), *std::move(specs)).Run();
  return ended.ok() ? 0 : End(kExitFailed, ended);
}

}  // namespace tickstack::cli
