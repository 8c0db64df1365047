#pragma once

#include <string>
#include <vector>

#include "cli/process_commands.h"

namespace CLI {
class App;
}

namespace tickstack::loadtest {
struct LoadTestOptions;
}

namespace tickstack::cli {

// Add `tickstack loadtest`, and `tickstack demo`, which is a short one. Parsing the command line
// sets `action`. The options must outlive the app. `args` is the command line, which the results
// record.
void AddLoadTestCommand(CLI::App& app, loadtest::LoadTestOptions& options,
                        const std::vector<std::string>& args, Action& action);
void AddDemoCommand(CLI::App& app, loadtest::LoadTestOptions& options,
                    const std::vector<std::string>& args, Action& action);

}  // namespace tickstack::cli
