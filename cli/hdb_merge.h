#pragma once

// `tickstack hdb merge DIR --date DATE --rows FILE`: adds late rows and corrections to a past
// partition (disk/partition_merge.h), makes its bars again, and tells the hdb to reload.

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/stack_config.h"
#include "disk/partition_merge.h"
#include "disk/storage.h"

namespace CLI {
class App;
}

namespace tickstack::cli {

struct HdbMergeOptions {
  std::string directory;
  std::string date;
  std::string rows;   // A log, or the directory of a splayed table; empty: nothing is merged.
  std::string table;  // Only this table of a log; the name of a splayed table.
  std::vector<std::string> keys;
  std::string config;  // Path of the stack.toml with the schemas, bars and hdb; may be empty.
  std::string hdb;     // host:port of the hdb to reload.
  bool leave_bars = false;
  bool other_dates = false;
  bool again = false;
  bool dry_run = false;
  bool undo = false;
};

void AddHdbMergeOptions(CLI::App& command, HdbMergeOptions& options);

// Prints what was merged to stdout, notes and errors to stderr. Returns the exit code: 0 done, or
// the partition had the rows already; 1 failed; 2 wrong usage. Threads: the main one.
int RunHdbMerge(const HdbMergeOptions& options);

// Tells an hdb to load its database again, and waits until it has. If `hdb` is empty, prints that
// this is needed. `is_link`: logs in with the credentials of processes.
absl::Status ReloadHdb(const std::string& hdb, bool is_link);

// Merges the rows of options.rows into the partition of `date`. `config` has the tables and bars.
// `notes` receives what people should know, a line each. Errors: those of LoggedDay::Replay,
// SplayedTable::Open and MergePartition.
absl::StatusOr<disk::MergedPartition> MergeFile(const HdbMergeOptions& options, int32_t date,
                                                const StackConfig& config,
                                                disk::StorageObserver* observer,
                                                std::vector<std::string>& notes);

}  // namespace tickstack::cli
