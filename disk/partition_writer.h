#pragma once

// Writes the tables of one day as a partition of a database that kdb+ loads:
//
//   1. database/sym                           adds and syncs new names
//   2. segment/writing.2024.01.29$/trade/...  writes and syncs all columns and their checksums
//   3. segment/2024.01.29/                    makes the complete day visible by a rename
//
// The segment is the database itself. With a `par.txt`, it is the directory in line n of that file,
// counted from 0, where n is the number of days since 2000-01-01 modulo the number of lines. A
// process that dies before step 3 may leave unused names in `sym`, and a folder whose name ends in
// `$`. kdb+ and the hdb ignore this folder, and the next write to the segment removes it.
//
// row_order.h defines the order of rows. The column `sym` is the first one in `.d`, as with kdb+'s
// .Q.dpft; the others are in the order of the schema. A keyed table is written as a plain one. A
// column `date` is not written. If it is in the key of a table, rows of other dates are not written
// either (rows_of_date.h).
//
// Memory: `memory_bytes` for windows, the memory of a FileImage for each of up to threads + 1
// concurrent columns, the memory that row_order.h states, and 8 bytes per name.

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "disk/compression.h"
#include "disk/storage.h"
#include "disk/symbol_file_writer.h"
#include "table/table.h"

namespace tickstack::disk {

// How columns are compressed. A key is `default`, a table, a column, or `table.column`. The most
// specific key applies; a column is more specific than a table.
class CompressionRules {
 public:
  void Set(std::string_view key, const CompressionOptions& options) {
    rules_.insert_or_assign(std::string(key), options);
  }
  CompressionOptions Of(std::string_view table, std::string_view column) const;

 private:
  std::map<std::string, CompressionOptions, std::less<>> rules_;
};

// A table of the day that cannot be written, and why.
struct LeftOutTable {
  Schema schema;  // Its columns may be unknown: none.
  std::string why;
};

struct PartitionWriterOptions {
  std::string database;  // A folder; created if missing.
  CompressionRules compression;
  // These help the caller's thread to write columns and compress blocks.
  WorkerPool* workers = nullptr;
  // Total memory that all threads use for putting columns in order; row_gather.h explains its
  // effect. The writer uses less if the columns are smaller.
  size_t memory_bytes = size_t{160} << 20;
  StorageObserver* observer = nullptr;
  // Tables whose `.d` names the columns in the order of the schema. In others, `sym` is the first.
  std::set<std::string, std::less<>> keep_order = {};
  // For WritePartition: tables whose absence the partition states (left_out_table.h).
  std::vector<LeftOutTable> left_out = {};
};

struct WrittenTable {
  std::string table;
  uint64_t rows = 0;
  uint64_t other_date_rows = 0;  // Number of rows with other dates.
  bool left_out = false;         // True if these rows were not written.
  int32_t first_other_date = 0;  // The earliest of their dates.
  int32_t last_other_date = 0;   // The latest of their dates.
  uint64_t stand_ins = 0;        // Values that have no form on the disk (anymap_writer.h).
};

struct WrittenPartition {
  std::string path;
  std::vector<WrittenTable> tables;
  uint64_t bytes = 0;     // Size of column files.
  int64_t new_names = 0;  // Number of names that were added to `sym`.
};

// Checks that a table and its columns have names that a partition can have. kInvalidArgument, with
// the name, if not.
absl::Status CheckFileNames(const Schema& schema);

// Returns the folder in which the partition of a date is, or would be written. kNotFound if that is
// a segment that does not exist, possibly on a disk that is not mounted.
absl::StatusOr<std::string> SegmentOf(const std::string& database, int32_t date);

// Returns the path of a date's partition in any segment; "" if there is none. While the partition
// is moved between segments, and after a move that was interrupted, returns the renamed directory.
absl::StatusOr<std::string> FindPartition(const std::string& database, int32_t date);

// kInvalidArgument if the partitions of a database are months, years or numbers. Queries would not
// see any of them once it has a day. Cost: listing its segments.
absl::Status CheckHoldsDays(const std::string& database);

// Writes the partition of `date` durably. `tables` and `left_out` together must have every table of
// the process, also those without rows: kdb+ requires each table in each partition. They must share
// one SymbolTable.
//
//   kFailedPrecondition  the date already has a partition
//   kUnavailable         another process is writing to the database
//   kResourceExhausted   the disk is full
//   kInvalidArgument     the name of a table or column is invalid for a file; or the database's
//                        partitions are not days
//
// An error leaves no new partition; files that were written for it are removed, if possible.
absl::StatusOr<WrittenPartition> WritePartition(const PartitionWriterOptions& options, int32_t date,
                                                std::span<const Snapshot> tables);

// Writes the files of some tables in the partition of `date` into the new folder `folder`, and
// renames nothing. Used for repairs and new versions. Symbols are numbered as in the database's
// `sym`, whose writer the caller holds. The result has no path.
absl::StatusOr<WrittenPartition> WriteTables(const PartitionWriterOptions& options, int32_t date,
                                             std::span<const Snapshot> tables,
                                             const std::string& folder, SymbolFileWriter& sym);

// Removes what writers that died left in a segment. The caller holds the lock of SymbolFileWriter,
// which excludes other writers.
absl::Status RemoveUnfinished(const std::string& segment, const Storage& storage);

}  // namespace tickstack::disk
