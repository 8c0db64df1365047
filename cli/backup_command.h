#pragma once

// `tickstack backup` and `tickstack restore`.

#include <optional>
#include <string>

namespace tickstack::cli {

struct BackupCommandOptions {
  std::string config;
  std::string destination;
  std::optional<std::string> data;  // Default: from the configuration.
  bool json = false;
};

struct RestoreCommandOptions {
  std::string source;
  std::string data;  // Empty: only verifies the backup.
  bool json = false;
};

// Copies logs, database and configuration of a stack, running or not. Prints how far each log was
// copied. Returns 0; 1 if it failed, or if the copies are damaged, as the originals are; 2 if the
// configuration is wrong.
int RunBackup(const BackupCommandOptions& options);

// Puts a backup into a new data directory, or verifies it. Returns 0, or 1 if it failed.
int RunRestore(const RestoreCommandOptions& options);

}  // namespace tickstack::cli
