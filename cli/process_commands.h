#pragma once

// The subcommands that are one process of a stack: what their flags mean. Flags win over the
// configuration file.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/stack_config.h"

namespace CLI {
class App;
}

namespace tickstack {

// What a subcommand leaves to be done once the whole command line was right: its exit code is
// main's.
using Action = std::function<int()>;

// The configuration that the flags of one process start from: the one of `--config`, or defaults.
// `args` is the command line behind the program's name; nothing is printed. Has exactly one
// process, the one that `--name` names, or the first of its kind. kNotFound if the file has none of
// that kind or name; otherwise as LoadStackConfig.
absl::StatusOr<StackConfig> ConfigForProcess(const std::vector<std::string>& args);

// Add one subcommand each; parsing sets `action`. The configuration outlives the app.
void AddTickerplantCommand(CLI::App& app, StackConfig& config, Action& action);
void AddRdbCommand(CLI::App& app, StackConfig& config, Action& action);
void AddHdbCommand(CLI::App& app, StackConfig& config, Action& action);
void AddFeedCommand(CLI::App& app, StackConfig& config, Action& action);
void AddAggEngineCommand(CLI::App& app, StackConfig& config, Action& action);
void AddMonitorCommand(CLI::App& app, StackConfig& config, Action& action);

}  // namespace tickstack
