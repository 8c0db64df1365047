#pragma once

// Checks all files of a database.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "disk/column_check.h"

namespace tickstack::disk {

struct DatabaseCheck {
  uint64_t partitions = 0;
  // Splayed tables; a partitioned table counts once for each partition that has it.
  uint64_t tables = 0;
  uint64_t columns = 0;
  uint64_t rows = 0;
  uint64_t disk_bytes = 0;            // Size of the columns on the disk.
  uint64_t unchecksummed_tables = 0;  // Tables without checksums, such as those of kdb+.
  std::vector<Finding> findings;      // Sorted by path; at most kFindingsMax.
  uint64_t findings_left_off = 0;
  // Things that kdb+ accepts but a person may want to know, sorted by path; at most kFindingsMax.
  std::vector<Finding> warnings;

  static constexpr size_t kFindingsMax = 10'000;
  bool is_sound() const { return findings.empty(); }
};

// Checks every file that kdb+ would load from `root`:
//
//   par.txt        its segments, leftovers of interrupted moves, dangling links
//   domains        torn and repeated names
//   partitions     for each table: its `.d`; that each column exists, is whole (CheckColumn) and
//                  has as many rows as the others; that the newest partition has the table, with
//                  the same types and all columns of the older ones
//                  The partitions are named for none of its columns. A partition has no files
//   root           splayed tables and flat files
//   checksums      every block of every file that has them
//
// A table or column that an older partition lacks is not a finding, since queries treat it as empty
// or null. It is one if the column's file exists.
//
// Warnings are for databases that kdb+ loads: times of a symbol that do not ascend in a table
// parted by symbol, symbols that are not enumerated, files beside a table that its `.d` does not
// name, or beside the tables of a partition, a `.d` with an attribute or a wrong count.
//
// A table that another version replaces meanwhile (partition_versions.h) is checked again.
//
// kNotFound if there is no such directory. Cost: reads everything once, and once more for
// checksums. All threads share this work, even on a single file. Memory: for each thread, as much
// as CheckColumn. Threads: the caller's and those of `workers`.
absl::StatusOr<DatabaseCheck> CheckDatabase(const std::string& root, WorkerPool& workers);

// Checks one partition of the database in `root`, given by the partition's directory, in the same
// way. Each thread calls `stop` before each column; kCancelled if that returns true.
absl::StatusOr<DatabaseCheck> CheckPartition(const std::string& root, const std::string& directory,
                                             WorkerPool& workers, absl::FunctionRef<bool()> stop);

}  // namespace tickstack::disk
