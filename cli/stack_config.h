#pragma once

// Reads a stack's configuration (examples/stack.toml has every key) into the options of its
// processes.

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/process_table.h"

namespace tickstack::cli {

// Read and check a configuration. kInvalidArgument, with file, line and key (base/config.h), for a
// value of the wrong type, an unknown key, or a name that two processes share. Addresses that name
// a process (`tickerplant = "tp"`) stay names until ResolveAddresses.
absl::StatusOr<StackConfig> LoadStackConfig(const std::string& path);
absl::StatusOr<StackConfig> ParseStackConfig(std::string_view text, std::string_view file_name);

// What is wrong with a configuration.
struct ConfigErrors {
  std::vector<std::string> errors;  // `file:line:column: key: what`, in the order of lines.
  // True if there may be more errors, which cannot be told from consequences of these.
  bool may_hide_more = false;
};
// Finds all errors of a configuration, by removing what is wrong and reading it again. Returns no
// errors if it is right. In other files, such as a monitor's queries, finds only the first error.
ConfigErrors FindConfigErrors(const std::string& path);

// True if the rdb gets the file's tables, because it subscribes to the file's tickerplant. Call it
// before ResolveAddresses, since it compares names.
bool KnowsTables(const StackConfig& config, const rdb::RdbMainOptions& rdb);

// Replaces addresses that name a process of the stack by its current `host:port`.
void ResolveAddresses(StackConfig& config);

// Sets the day of everything that has one. kInvalidArgument unless it has the form `2013.10.07`.
absl::Status SetDate(StackConfig& config, const std::string& date);
void SetData(StackConfig& config, const std::string& data);

}  // namespace tickstack::cli
