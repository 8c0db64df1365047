#include "cli/up_command.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/logging.h"
#include "base/status.h"
#include "cli/stack_config.h"
#include "cli/supervisor.h"
#include "wire/listen_on.h"

namespace tickstack {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitWrongStack = 2;

// The order in which processes stop: first new rows end, then the last sample, the last bars, the
// publication of staged rows, and finally their readers.
enum StopRank { kStopFeed, kStopMonitor, kStopAggEngine, kStopTickerplant, kStopRdb, kStopHdb };

// A process of the stack: where the configuration has its address, and its rank in the stop order.
struct Member {
  std::string role;
  std::string name;
  wire::ListenerOptions* listener;
  int stop_rank;
};

std::vector<Member> MembersOf(StackConfig& config) {
  std::vector<Member> members;
  const auto add = [&](std::string_view role, auto& options, StopRank stop_rank) {
    members.push_back({std::string(role), options.name, &options.listener, stop_rank});
  };
  if (config.tickerplant) add("tickerplant", *config.tickerplant, kStopTickerplant);
  for (auto& rdb : config.rdbs) add("rdb", rdb, kStopRdb);
  for (auto& feed : config.feeds) add("feed", feed, kStopFeed);
  if (config.hdb) add("hdb", *config.hdb, kStopHdb);
  for (auto& monitor : config.monitors) add("monitor", monitor, kStopMonitor);
  if (config.aggengine) add("aggengine", *config.aggengine, kStopAggEngine);
  return members;
}

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
  if (MembersOf(config).empty()) {
    return InvalidArgument(
        "{}: found no process: expected [tickerplant], [[rdb]], [hdb], [feed] or [monitor]",
        options.config);
  }
  return config;
}

// Binds every member's port, and stores the resulting port in the configuration.
absl::StatusOr<std::vector<OwnedFd>> BindAll(const std::vector<Member>& members,
                                             std::optional<int> ports) {
  std::vector<OwnedFd> listeners;
  for (size_t i = 0; i < members.size(); ++i) {
    wire::ListenerOptions& where = *members[i].listener;
    if (ports) where.port = *ports == 0 ? 0 : *ports + static_cast<int>(i);
    if (where.port > 65'535)
      return InvalidArgument("--ports: {} is not a port, expected 1 to 65535", where.port);
    absl::StatusOr<OwnedFd> listener =
        wire::ListenOn(where.host, static_cast<uint16_t>(where.port));
    if (!listener.ok()) return Annotate(listener.status(), members[i].name);
    where.port = wire::PortOf(*listener);
    listeners.push_back(*std::move(listener));
  }
  return listeners;
}

// Returns flags for what the configuration file lacks: where the other processes really are.
std::vector<std::string> FlagsOf(const UpOptions& options, const Member& member,
                                 const StackConfig& config) {
  std::vector<std::string> flags;
  const auto add = [&](std::string flag, std::string value) {
    flags.push_back(std::move(flag));
    flags.push_back(std::move(value));
  };
  if (member.role == "rdb") {
    for (const auto& rdb : config.rdbs) {
      if (rdb.name != member.name) continue;
      add("--tickerplant", rdb.tickerplant);
      if (rdb.end_of_day && !rdb.end_of_day->hdb.empty()) add("--hdb", rdb.end_of_day->hdb);
    }
  }
  for (const auto& feed : config.feeds) {
    if (member.role != "feed" || feed.name != member.name) continue;
    add("--tickerplant", feed.tickerplant);
    const std::string address = fmt::format("{}:{}", feed.listener.host, feed.listener.port);
    const bool monitor_starts_it =
        std::any_of(config.monitors.begin(), config.monitors.end(),
                    [&address](const auto& monitor) { return monitor.feed == address; });
    if (!monitor_starts_it && !options.feeds_wait) flags.emplace_back("--start");
  }
  if (member.role == "aggengine") add("--tickerplant", config.aggengine->tickerplant);
  for (const auto& monitor : config.monitors) {
    if (member.role != "monitor" || monitor.name != member.name) continue;
    add("--rdb", monitor.rdb);
    add("--feed", monitor.feed);
  }
  if (member.role == "tickerplant" || member.role == "rdb" || member.role == "hdb" ||
      member.role == "monitor") {
    add("--data", config.data);
  }
  if (config.date && (member.role == "tickerplant" || member.role == "feed")) {
    add("--date", *config.date);
  }
  return flags;
}

absl::StatusOr<std::vector<ProcessSpec>> SpecsOf(const UpOptions& options, StackConfig& config) {
  TS_ASSIGN_OR_RETURN(const std::string program, OwnProgram());
  const std::vector<Member> members = MembersOf(config);
  TS_ASSIGN_OR_RETURN(std::vector<OwnedFd> listeners, BindAll(members, options.ports));
  ResolveAddresses(config);
  std::vector<ProcessSpec> specs;
  for (size_t i = 0; i < members.size(); ++i) {
    ProcessSpec spec;
    spec.name = members[i].name;
    spec.role = members[i].role;
    spec.command = {program, spec.role, "--config", options.config, "--name", spec.name};
    for (std::string& flag : FlagsOf(options, members[i], config))
      spec.command.push_back(std::move(flag));
    spec.listener = std::move(listeners[i]);
    spec.port = static_cast<uint16_t>(members[i].listener->port);
    spec.stop_rank = members[i].stop_rank;
    // A feed ends with its day (`exit_when_done`), a monitor after its `seconds`.
    spec.may_end = spec.role == "feed" || spec.role == "monitor";
    specs.push_back(std::move(spec));
  }
  return specs;
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
  InitLogging(config->name, config->log_level);
  for (const std::string& warning : config->warnings) LogWarn("{}", warning);
  if (options.parent_fd >= 0) DieWithParent(options.parent_fd);
  absl::StatusOr<std::vector<ProcessSpec>> specs = SpecsOf(options, *config);
  if (!specs.ok()) return End(kExitFailed, specs.status());
  SupervisorOptions supervisor;
  supervisor.log_folder = config->data + "/logs";
  supervisor.ready_file = options.ready_file;
  supervisor.restart = config->restart;
  supervisor.run_ns = static_cast<int64_t>(options.seconds * static_cast<double>(kNsPerSecond));
  const absl::Status ended = Supervisor(std::move(supervisor), *std::move(specs)).Run();
  return ended.ok() ? 0 : End(kExitFailed, ended);
}

}  // namespace tickstack
