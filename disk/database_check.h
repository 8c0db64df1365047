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
  uint64_t tables = 0;  // Splayed tables: one for each partition that has it.
  uint64_t columns = 0;
  uint64_t rows = 0;
  uint64_t disk_bytes = 0;            // Of columns.
  uint64_t unchecksummed_tables = 0;  // Tables without checksums, such as those of kdb+.
  std::vector<Finding> findings;      // By path. At most kFindingsMax.
  uint64_t findings_left_off = 0;
  // Things that kdb+ accepts but a person may want to know: by path. At most kFindingsMax.
  std::vector<Finding> warnings;

  static constexpr size_t kFindingsMax = 10'000;
  bool is_sound() const { return findings.empty(); }
};

// Checks every file that kdb+ would load from `root`: par.txt and its segments, with leftovers of
// interrupted moves and dangling links; domains (torn and repeated names); for every table of every
// partition its `.d`, that each column exists and is whole (CheckColumn) and has as many rows as
// the others, that its columns have the newest partition's types, and that the newest partition has
// it; splayed tables and flat files in the root; and, where there are checksums, every block of
// every file that has them. Tables and columns that older partitions lack are
// no findings, since queries treat them as empty and null, unless the column's file exists.
//
// Warnings concern databases that kdb+ loads: times that do not ascend for a symbol where symbols
// are parted, files beside a table that no `.d` names, a `.d` with an attribute or a wrong count.
//
// kNotFound if there is no such directory. Cost: reads everything once, and once more for
// checksums, which all threads compare whatever the sizes of the files. Memory: that of CheckColumn
// for each thread. Threads: the caller's and those of `workers`.
absl::StatusOr<DatabaseCheck> CheckDatabase(const std::string& root, WorkerPool& workers);

// The same for one partition, given by its directory, of the database in `root`. kCancelled once
// `stop` returns true; any thread asks it before each column.
absl::StatusOr<DatabaseCheck> CheckPartition(const std::string& root, const std::string& directory,
                                             WorkerPool& workers, absl::FunctionRef<bool()> stop);

}  // namespace tickstack::disk
