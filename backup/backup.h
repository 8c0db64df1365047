#pragma once

// Copies what a stack keeps on the disk while it runs: the configuration, logs, and the database.
//
//   DATA/tplog/symDATE, .idx, .state   each log to the end of a whole message, its index as far,
//                                      and its state
//   DATA/hdb/DATE/..., sym, ...        partitions that are complete, then the domains they refer to
//
// A restored stack continues as after a power cut at that time: all rows of the copied messages are
// there, and feeds that number their rows send the later ones again. What can be derived from the
// logs, such as a persistent tier, is not copied.
//
// The second backup into a directory copies what has changed: the new part of logs and domains, and
// files whose size or time of change differs. Nothing is removed from a backup when the stack
// removes it, so it keeps logs and partitions that the stack has dropped.
//
// Every file is compared with the checksums that it has: logs block by block by their index (the
// copy is), partitions by the checksums beside them. Damage does not end a backup; it is reported.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backup/manifest.h"

namespace tickstack::backup {

struct BackupOptions {
  std::string config;       // The configuration's file.
  std::string data;         // The data directory.
  std::string database;     // The database's directory; need not exist.
  std::string destination;  // Created if it does not exist.
  int threads = 1;          // That compare checksums.
};

struct BackupReport {
  Manifest manifest;
  uint64_t files_copied = 0;  // New files, and those of which a part is new.
  uint64_t bytes_copied = 0;
  uint64_t files_kept = 0;  // As they are in the backup already.
  // Damage, with file and place: the copy has it, too.
  std::vector<std::string> problems;
};

// kUnavailable if another backup into that directory is running. kUnimplemented for a database with
// par.txt, whose segments are elsewhere. Any other error leaves the last backup as it was.
//
// Cost: reads what is new twice, and writes it. Memory: some MiB. Threads: the caller's and those
// that it starts.
absl::StatusOr<BackupReport> BackUp(const BackupOptions& options);

}  // namespace tickstack::backup
