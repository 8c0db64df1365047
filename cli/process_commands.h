#pragma once

// The subcommands that run one process of a stack, and the meaning of their flags. Flags override
// the configuration file.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/stack_config.h"

namespace CLI {
class App;
}

namespace tickstack {

// What a subcommand runs once the whole command line was parsed. Returns main's exit code.
using Action = std::function<int()>;

// Returns the configuration that the flags of one process modify: that of `--config`, or the
// defaults. `args` is the command line without the program's name; nothing is printed. The result
// has exactly one process: the one that `--name` names, or the first of its kind. kNotFound if the
// file has none of that kind or name; other errors are those of LoadStackConfig.
absl::StatusOr<StackConfig> ConfigForProcess(const std::vector<std::string>& args);

// Add one subcommand each. Parsing sets `action`. The configuration must outlive the app.
void AddTickerplantCommand(CLI::App& app, StackConfig& config, Action& action);
void AddRdbCommand(CLI::App& app, StackConfig& config, Action& action);
void AddHdbCommand(CLI::App& app, StackConfig& config, Action& action);
void AddFeedCommand(CLI::App& app, StackConfig& config, Action& action);
void AddAggEngineCommand(CLI::App& app, StackConfig& config, Action& action);
void AddMonitorCommand(CLI::App& app, StackConfig& config, Action& action);

}  // namespace tickstack
