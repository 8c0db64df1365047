#pragma once

// `tickstack check`: what is wrong with a stack's configuration, or what a stack with it would use.

#include <optional>
#include <string>

namespace tickstack::cli {

struct CheckOptions {
  std::string config;
  std::optional<std::string> data;  // Default: from the configuration.
  bool json = false;
};

// Prints every error of the configuration with its line and column; or, if there is none, what the
// stack would use: addresses, folders and their free space, memory, and disk for a million rows of
// each table. Starts nothing and writes nothing. Returns 0; 1 if the stack could not start here,
// for example because two processes have the same port; 2 if the configuration is wrong. A port in
// use is not an error, because the stack itself may be running.
//
// Cost: as that of filling each table with 100,000 rows.
int RunCheck(const CheckOptions& options);

}  // namespace tickstack::cli
