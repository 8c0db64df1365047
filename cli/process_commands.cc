#include "cli/process_commands.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "base/child_process.h"
#include "base/logging.h"
#include "base/status.h"
#include "cli/listener_config.h"
#include "cli/process_table.h"
#include "cli/reload.h"
#include "cli/shard_config.h"
#include "cli/tls_config.h"

namespace tickstack::cli {
namespace {

// --- Which configuration -------------------------------------------------------------------------

// Returns the value of `--flag VALUE` or `--flag=VALUE`; the last one, as in CLI11.
std::optional<std::string> FlagValue(const std::vector<std::string>& args, std::string_view flag) {
  std::optional<std::string> value;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i] == flag && i + 1 < args.size()) value = args[i + 1];
    if (args[i].size() > flag.size() && args[i].starts_with(flag) && args[i][flag.size()] == '=') {
      value = args[i].substr(flag.size() + 1);
    }
  }
  return value;
}

// Refuses a file with another map of shards than that of the running stack, which would have two
// maps: a symbol would be in two shards or in none.
absl::Status CheckMapOfStack(const StackConfig& config, const std::string& file,
                             const std::optional<std::string>& map) {
  const std::string found = ShardMapFlag(config);
  if (!map || *map == found) return absl::OkStatus();
  return FailedPrecondition(
      "{}: found the map of shards {}, expected {}, with which the stack was started: a map "
      "changes "
      "only while the stack is stopped",
      file, found, *map);
}

absl::StatusOr<StackConfig> LoadedConfig(const std::string& file, const std::string& role,
                                         const std::optional<std::string>& name,
                                         const std::optional<std::string>& map) {
  TS_ASSIGN_OR_RETURN(StackConfig config, LoadStackConfig(file));
  TS_RETURN_IF_ERROR(CheckMapOfStack(config, file, map));
  ResolveAddresses(config);
  for (const ProcessKind& kind : kProcesses) {
    // With another name, it would have the data of no shard.
    const bool is_shard = kind.per_shard && config.shard_map != nullptr;
    if (kind.role == role && is_shard && name && ShardOf(config, *name).empty()) {
      return NotFound("{}: no [{}] of a shard named {}", file, role, *name);
    }
    if (kind.role != role || kind.keep_one(config, name)) continue;
    const bool by_name = kind.several && name;
    return NotFound("{}: no [{}]{} in the configuration", file, role,
                    by_name ? " named " + *name : "");
  }
  return config;
}

// --- Flags that all processes have ---------------------------------------------------------------

struct CommonFlags {
  std::string config;  // Read by ConfigForProcess; listed here for --help and the check.
  int parent_fd = -1;
  std::string shard_map;  // Read by ConfigForProcess, too.
  std::string log_level;
  std::string log_format;
};

// Adds the flags and their effects to `command`; returns the values of those that act later.
std::shared_ptr<CommonFlags> AddCommonFlags(CLI::App& command, StackConfig& config,
                                            std::string& name, wire::ListenerOptions& listener) {
  auto flags = std::make_shared<CommonFlags>();
  command.add_option("--config", flags->config,
                     "Stack configuration (stack.toml); flags override its settings");
  command.add_option("--name", name, "Name of the process in log lines and in the configuration")
      ->capture_default_str();
  AddListenerFlags(command, listener);
  AddSecurityFlags(command, config.security);
  command
      .add_option("--log-level", flags->log_level,
                  "Log lines of this level and above: debug, info, warn, error or off")
      ->check([](const std::string& text) {
        return ParseLogLevel(text) ? "" : "expected debug, info, warn, error or off";
      });
  command.add_option("--log-format", flags->log_format, "Format of log lines: text or json")
      ->check(CLI::IsMember({"text", "json"}));
  command.add_option("--parent-fd", flags->parent_fd, "Stop when this inherited pipe closes")
      ->group("Passed by the parent process");
  command
      .add_option("--shard-map", flags->shard_map,
                  "Refuse a configuration with another map of shards than this one")
      ->group("Passed by the parent process");
  command.parse_complete_callback([flags, &config] {
    if (const auto level = ParseLogLevel(flags->log_level)) config.log_level = *level;
    if (flags->log_format == "text") config.log_format = LogFormat::kText;
    if (flags->log_format == "json") config.log_format = LogFormat::kJson;
  });
  return flags;
}

// Prepares a process to run: names its log, and makes it end with its parent.
void BeginProcess(const StackConfig& config, const CommonFlags& flags, const std::string& name) {
  SetLogFormat(config.log_format);
  InitLogging(name, config.log_level);
  RestrictFileAccess(config.readable_by);
  if (flags.parent_fd >= 0) return DieWithParent(flags.parent_fd);
  // The supervisor of a stack has logged the warnings once for all processes.
  for (const std::string& warning : config.warnings) LogWarn("{}", warning);
}

// Loads the configuration again and parses the flags, which override it, as at the start. Takes
// what can change while the process runs. An error changes nothing, and returns false.
bool ReloadProcess(const std::vector<std::string>& args) {
  absl::StatusOr<StackConfig> config = ConfigForProcess(args);
  absl::Status status = config.status();
  if (status.ok()) {
    CLI::App app;
    Action unused;
    AddProcessCommands(app, *config, args, unused);
    try {
      app.parse(std::vector<std::string>(args.rbegin(), args.rend()));
    } catch (const CLI::ParseError& error) {
      status = InvalidArgument("{}", error.what());
    }
  }
  if (!status.ok()) {
    LogError("configuration not loaded again, nothing has changed error=\"{}\"", Message(status));
    return false;
  }
  for (const ProcessKind& kind : kProcesses) {
    if (kind.role != args.front()) continue;
    const std::unique_ptr<StackProcess> process = std::move(kind.find(*config).front());
    SetLogFormat(config->log_format);
    InitLogging(process->name(), config->log_level);
    serve::SetLiveSettings(std::make_shared<const serve::LiveSettings>(process->Live()));
  }
  return true;
}

// Reloads at each SIGHUP. What has changed is logged by the stack's supervisor, if there is one.
void BeginReloads(const std::vector<std::string>& args, const CommonFlags& flags) {
  if (flags.config.empty()) return;
  const auto keys = std::make_shared<absl::StatusOr<ConfigKeys>>(ConfigKeysOf(flags.config));
  const bool is_alone = flags.parent_fd < 0;
  ReloadOnSighup([&args, path = flags.config, keys, is_alone] {
    absl::StatusOr<ConfigKeys> changed = ConfigKeysOf(path);
    if (!ReloadProcess(args)) return;
    if (is_alone && keys->ok() && changed.ok()) LogConfigChanges(**keys, *changed);
    *keys = std::move(changed);
    LogInfo("configuration loaded again path={}", path);
  });
}

void AddProcessCommand(CLI::App& app, StackConfig& config, const std::vector<std::string>& args,
                       const ProcessKind& kind, std::shared_ptr<StackProcess> process,
                       Action& action) {
  CLI::App& command = *app.add_subcommand(std::string(kind.role), std::string(kind.help));
  const auto flags = AddCommonFlags(command, config, process->name(), process->listener());
  const std::function<void()> flags_known = process->AddFlags(command, config);
  command.callback([&command, &config, &args, &action, flags, flags_known, process] {
    // A tool with the process's name, such as `hdb check`.
    if (!command.get_subcommands().empty()) return;
    if (flags_known) flags_known();
    action = [&config, &args, flags, process] {
      BeginReloads(args, *flags);
      BeginProcess(config, *flags, process->name());
      absl::Status secure = UseTls(config);
      if (secure.ok()) secure = BeginSecurity(config, process->listener());
      if (secure.ok()) return process->Run(config);
      LogError("{} ends error=\"{}\"", process->name(), Message(secure));
      return EXIT_FAILURE;
    };
  });
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ResolveProcessCommand(
    const std::vector<std::string>& args) {
  const bool by_name = args.size() >= 2 && args[0] == "process" && !args[1].starts_with('-');
  if (!by_name || std::ranges::count(args, "--help") + std::ranges::count(args, "-h") > 0) {
    return args;
  }
  const std::string& name = args[1];
  const std::optional<std::string> file = FlagValue(args, "--config");
  if (!file) return InvalidArgument("process {}: --config is required", name);
  TS_ASSIGN_OR_RETURN(StackConfig config, LoadStackConfig(*file));
  std::string names;
  for (const ListedProcess& listed : ProcessesOf(config)) {
    if (listed.process->name() == name) {
      std::vector<std::string> resolved{std::string(listed.kind->role), "--name", name};
      resolved.insert(resolved.end(), args.begin() + 2, args.end());
      return resolved;
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", listed.process->name());
  }
  return NotFound("{}: no process named {} in the configuration, which has {}", *file, name,
                  names.empty() ? "none" : names);
}

void AddProcessByNameCommand(CLI::App& app) {
  CLI::App& command =
      *app.add_subcommand("process", "Run one process of a configuration, given its name");
  command.add_option("name", "Name of the process, such as rdb")->required();
  command.add_option("--config", "Stack configuration (stack.toml)")->required();
  command.footer("Other flags are those of the process's role: see tickstack rdb --help.");
}

absl::StatusOr<StackConfig> ConfigForProcess(const std::vector<std::string>& args) {
  const std::string role = args.empty() ? "" : args.front();
  const std::optional<std::string> file = FlagValue(args, "--config");
  if (file) {
    return LoadedConfig(*file, role, FlagValue(args, "--name"), FlagValue(args, "--shard-map"));
  }
  StackConfig config;
  for (const ProcessKind& kind : kProcesses) kind.add_default(kind, config);
  return config;
}

void AddProcessCommands(CLI::App& app, StackConfig& config, const std::vector<std::string>& args,
                        Action& action) {
  for (const ProcessKind& kind : kProcesses) {
    std::vector<std::unique_ptr<StackProcess>> found = kind.find(config);
    if (found.empty()) continue;
    AddProcessCommand(app, config, args, kind, std::move(found.front()), action);
  }
}

}  // namespace tickstack::cli
