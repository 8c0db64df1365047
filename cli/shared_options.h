#pragma once

// Keys and flags that several kinds of processes have, and how flags with units are read.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "base/config.h"
#include "serve/query_settings.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tickstack::cli {

struct StackConfig;

// Reads a number that must not be negative.
absl::Status ReadFromZero(const ConfigTable& table, std::string_view key, double* target);

// Read the keys, or add the flags, of processes that answer queries.
absl::Status ReadQuerySettings(const ConfigTable& table, serve::QuerySettings& options);
void AddQueryFlags(CLI::App& command, serve::QuerySettings& options);

// Add `--data` and `--date`, which replace the configuration's values.
void AddDataFlag(CLI::App& command, StackConfig& config);
void AddDateFlag(CLI::App& command, StackConfig& config, const std::string& help);

// Add a flag for a size, such as 64MiB, or for a duration, such as 17h.
CLI::Option* AddBytesFlag(CLI::App& command, const std::string& flag, size_t& target,
                          const std::string& help);
CLI::Option* AddDurationFlag(CLI::App& command, const std::string& flag, int64_t& target_ns,
                             const std::string& help);

// Throws CLI::ValidationError, which names the flag, unless the status is OK.
void ThrowUnlessOk(const std::string& flag, const absl::Status& status);

}  // namespace tickstack::cli
