#pragma once

// The subcommands that run one process of a stack, made from cli/process_table.h: one per role, and
// `process`, which takes the name instead. Flags override the configuration file.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/stack_config.h"

namespace CLI {
class App;
}

namespace tickstack::cli {

// What a subcommand runs once the whole command line was parsed. Returns main's exit code.
using Action = std::function<int()>;

// Returns the configuration that the flags of one process modify: that of `--config`, or the
// defaults. `args` is the command line without the program's name; nothing is printed. The result
// has exactly one process of the subcommand's kind: the one that `--name` names, or the first.
// kNotFound if the file has none of that kind or name; other errors are those of LoadStackConfig.
absl::StatusOr<StackConfig> ConfigForProcess(const std::vector<std::string>& args);

// Returns the command line with `process NAME ...` replaced by `ROLE --name NAME ...`: the role
// of the process of this name in the file of `--config`. Returns other command lines, and calls for
// help, as they are. kNotFound, with the existing names, if there is no such process;
// kInvalidArgument without `--config`; other errors are those of LoadStackConfig.
absl::StatusOr<std::vector<std::string>> ResolveProcessCommand(
    const std::vector<std::string>& args);

// Adds the subcommand `process`, for --help only: ResolveProcessCommand replaces it in every other
// command line.
void AddProcessByNameCommand(CLI::App& app);

// Adds a subcommand for each kind of process that the configuration has. Parsing sets `action`. The
// configuration must outlive the app. `args` is the command line, which a reload of the
// configuration parses again; it must outlive the action.
void AddProcessCommands(CLI::App& app, StackConfig& config, const std::vector<std::string>& args,
                        Action& action);

}  // namespace tickstack::cli
