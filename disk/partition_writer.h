#pragma once

// Writes the tables of one day as a partition of a database that kdb+ loads:
//
//   database/sym                              names first, synced before anything uses them
//   segment/writing.2024.01.29$/trade/...     then all columns and their checksums, synced
//   segment/2024.01.29/                       one rename: now the day exists, complete
//
// The segment is the database itself or, with a `par.txt`, its line number (days since 2000-01-01
// mod lines). A process that dies in between leaves a folder whose name ends in `$`, which kdb+ and
// the hdb ignore and the next write of a partition there removes, or unused names in `sym`.
//
// row_order.h defines the order of rows. The column `sym` is the first one in `.d`, as with kdb+'s
// .Q.dpft; the others are in the order of the schema. A keyed table is written as a plain one. A
// column `date` is left out, and if it is in a table's key, so are the rows of other dates:
// rows_of_date.h.
//
// Memory: memory_bytes for windows; for each of up to threads + 1 concurrent columns that of
// FileImage; row_order.h; 8 bytes per name.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "disk/compression.h"
#include "disk/storage.h"
#include "table/table.h"

namespace tickstack::disk {

// How columns are compressed, by `default`, `column`, `table` or `table.column`. The most specific
// key wins; a column is more specific than a table.
class CompressionRules {
 public:
  void Set(std::string_view key, const CompressionOptions& options) {
    rules_.insert_or_assign(std::string(key), options);
  }
  CompressionOptions Of(std::string_view table, std::string_view column) const;

 private:
  std::map<std::string, CompressionOptions, std::less<>> rules_;
};

struct PartitionWriterOptions {
  std::string database;  // A folder; created if missing.
  CompressionRules compression;
  WorkerPool* workers = nullptr;  // Threads that also write columns and compress blocks.
  // Memory for putting columns in order, for all threads together: row_gather.h explains the
  // effect. At most the size of the columns is used.
  size_t memory_bytes = size_t{160} << 20;
  StorageObserver* observer = nullptr;
};

struct WrittenTable {
  std::string table;
  uint64_t rows = 0;
  // Rows with other dates, written or left out, and the range of these dates.
  uint64_t other_date_rows = 0;
  bool left_out = false;
  int32_t first_other_date = 0;
  int32_t last_other_date = 0;
};

struct WrittenPartition {
  std::string path;
  std::vector<WrittenTable> tables;
  uint64_t bytes = 0;     // Size of column files.
  int64_t new_names = 0;  // In `sym`.
};

// Returns the folder that holds, or would hold, the partition of a date; kNotFound if it is a
// segment that does not exist, possibly on a disk that is not mounted.
absl::StatusOr<std::string> SegmentOf(const std::string& database, int32_t date);

// Returns the path of a date's partition in any segment; "" if there is none. If it is being moved
// between segments, or a move of it died, returns the renamed directory.
absl::StatusOr<std::string> FindPartition(const std::string& database, int32_t date);

// Writes the partition of `date` durably. `tables` must have every table of the process, also those
// without rows: kdb+ requires each table in each partition. All share one SymbolTable. Errors:
// kFailedPrecondition: the date has a partition; kUnavailable: another process writes to the
// database; kResourceExhausted: the disk is full; kInvalidArgument: the name of a table or column
// is invalid for a file. After an error there is no partition of the date, and what was written of
// it has been removed, if possible.
absl::StatusOr<WrittenPartition> WritePartition(const PartitionWriterOptions& options, int32_t date,
                                                std::span<const Snapshot> tables);

// Writes the files of one table as in the partition of that date, into the new folder
// `folder/TABLE`, without a rename: for repairs. Symbols are numbered as in the database's `sym`.
absl::Status WriteTable(const PartitionWriterOptions& options, int32_t date, const Snapshot& table,
                        const std::string& folder);

}  // namespace tickstack::disk
