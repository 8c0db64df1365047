#pragma once

// `tickstack hdb archive` and `recall`: move old partitions of a database to an object store, and
// back (disk/table_archive.h).

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/config.h"
#include "s3/archive_access.h"

namespace CLI {
class App;
}

namespace tickstack::cli {

// Reads `[hdb.tiers]`. kInvalidArgument for a store without a bucket.
absl::Status ReadArchiveSettings(const ConfigTable& table, s3::ArchiveSettings& settings);

// Returns the settings of the configuration at `path`; those of no store if the path is empty, or
// the configuration has no [hdb.tiers].
absl::StatusOr<s3::ArchiveSettings> ArchiveSettingsOf(const std::string& path);

struct HdbArchiveOptions {
  std::string directory;
  std::string config;                  // Path of the stack's configuration, with [hdb.tiers].
  std::vector<std::string> tables;     // Empty: all.
  std::optional<int> older_than_days;  // Unset: that of the configuration.
  bool dry_run = false;
  bool json = false;  // True: print one JSON object.
};

struct HdbRecallOptions {
  std::string directory;
  std::string config;
  std::vector<std::string> tables;  // Empty: all.
  std::vector<std::string> dates;
  bool json = false;
};

// Add the subcommands' options. `options` must outlive the command.
void AddHdbArchiveOptions(CLI::App& command, HdbArchiveOptions& options);
void AddHdbRecallOptions(CLI::App& command, HdbRecallOptions& options);

// Print a line for each table to stderr, and totals to stdout. Return the exit code: 0, or 1 if a
// table failed. After an error of the store, and in a recall after any error, further tables are
// not touched. Threads: the main one.
int RunHdbArchive(const HdbArchiveOptions& options);
int RunHdbRecall(const HdbRecallOptions& options);

}  // namespace tickstack::cli
