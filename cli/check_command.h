#pragma once

// `tickstack check`: what is wrong with a stack's configuration, or what a stack with it would use.

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/stack_config.h"

namespace tickstack::cli {

struct CheckOptions {
  std::string config;
  std::optional<std::string> data;  // Default: from the configuration.
  bool json = false;
};

// Prints every error of the configuration with its line and column; or, if there is none, what the
// stack would use: addresses, folders and their free space, memory, and disk for a million rows of
// each table. Starts nothing and writes nothing. Returns 0; 1 if the stack could not start here,
// for example because two processes have the same port, or other machines could connect without a
// login; 2 if the configuration is wrong. A port in use is not an error, because the stack itself
// may be running.
//
// Cost: that of filling each table with 100,000 rows.
int RunCheck(const CheckOptions& options);

// Returns why a stack with this configuration could not start here; a port in use is no reason.
// Cost and errors: those of RunCheck.
absl::StatusOr<std::vector<std::string>> ProblemsOf(StackConfig& config);

}  // namespace tickstack::cli
