#pragma once

// Copies the files of a stack while it runs: the configuration, the logs and the database.
//
//   DATA/tplog/symDATE           up to the end of a complete message
//   DATA/tplog/symDATE.idx       the records that describe these messages
//   DATA/tplog/symDATE.state     the whole file
//   DATA/hdb/DATE/...            partitions that are complete
//   DATA/hdb/sym, ...            the domains, after the partitions that refer to them
//
// A restored stack behaves as if its power had been cut at the time of the backup. It has all rows
// of the copied messages, and feeds that number their rows send later rows again. Files that can be
// derived from the logs, such as a persistent tier, are not copied.
//
// A later backup into the same directory copies only changes: the new part of logs and domains, and
// files whose size or modification time differs. Logs and partitions that the stack has removed
// stay in the backup. A partition is copied as one version, even if a merge replaces it meanwhile;
// versions that a merge keeps are not copied.
//
// New parts of logs and new partitions are compared with their checksums: the copy of a log with
// its index, a partition with its files of checksums. Damage is reported and does not end the
// backup.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "backup/manifest.h"

namespace tickstack::backup {

struct BackupOptions {
  std::string config;       // Path of the configuration file; empty: it is not copied.
  std::string data;         // The data directory.
  std::string database;     // The database's directory; need not exist.
  std::string destination;  // Created if it does not exist.
  int threads = 1;          // Number of threads that compare checksums.
};

struct BackupReport {
  Manifest manifest;
  uint64_t files_copied = 0;  // Number of files of which at least a part was copied.
  uint64_t bytes_copied = 0;
  uint64_t files_kept = 0;  // Number of files that the backup already had.
  // Damage, with file and position. The copy has the same damage.
  std::vector<std::string> problems;
};

// Makes a backup, or adds to one. Errors: kUnavailable if another backup into the directory is
// running, or if a file changes all the time while it is copied; kUnimplemented for a database with
// `par.txt`, whose segments are in other places. Any error leaves the last backup usable.
//
// Cost: reads new bytes twice and writes them once. Memory: some MiB. Threads: the caller's and
// `threads` - 1 others.
absl::StatusOr<BackupReport> BackUp(const BackupOptions& options);

}  // namespace tickstack::backup
