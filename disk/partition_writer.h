#pragma once

// Writes the tables of one day as a partition of a database that kdb+ loads:
//
//   database/sym                              names first, synced before anything uses them
//   segment/writing.2024.01.29$/trade/...     then all columns, synced
//   segment/2024.01.29/                       one rename: now the day is there, whole
//
// The segment is the database, or with a `par.txt` the line number (days since 2000-01-01 mod
// lines) of it. A process that dies in between leaves a folder whose name ends in `$`, which kdb+
// and the hdb ignore and the next write of a partition there removes, or unused names in `sym`.
//
// Rows are in the order that row_order.h says. The column `sym` is the first one in `.d`, as kdb+'s
// .Q.dpft has it; the others follow in the order of the schema. A keyed table is written as a plain
// one. A column `date` is left out, and of a table with it in its key the rows of other dates:
// rows_of_date.h.
//
// Memory: memory_bytes for windows; a column takes as much as FileImage, threads + 1 of them at
// once; row_order.h; 8 bytes a name.

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

namespace tickstack {

// How columns are compressed, by `default`, `column`, `table` or `table.column`: what is narrower
// wins, a column over a table.
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
  std::string database;  // A folder; made if there is none.
  CompressionRules compression;
  WorkerPool* workers = nullptr;  // Columns are written, and blocks compressed, on these as well.
  // Where columns are put in order, for all threads together: row_gather.h says what more of it is
  // good for. No more is taken than the columns have.
  size_t memory_bytes = size_t{160} << 20;
  StorageObserver* observer = nullptr;
};

struct WrittenTable {
  std::string table;
  uint64_t rows = 0;
  // Rows that say that they are of other dates, and from when to when: in the partition, or left
  // out of it.
  uint64_t other_date_rows = 0;
  bool left_out = false;
  int32_t first_other_date = 0;
  int32_t last_other_date = 0;
};

struct WrittenPartition {
  std::string path;
  std::vector<WrittenTable> tables;
  uint64_t bytes = 0;     // Of column files.
  int64_t new_names = 0;  // In `sym`.
};

// The folder that holds the partition of a date, or would; kNotFound if it is a segment that is not
// there: a disk that is not mounted, perhaps.
absl::StatusOr<std::string> SegmentOf(const std::string& database, int32_t date);

// The path of a date's partition, whichever segment it is in; "" if there is none. If it is being
// moved between segments, or a move of it died, the directory that was taken away.
absl::StatusOr<std::string> FindPartition(const std::string& database, int32_t date);

// Writes the partition of `date`, durably. Every table of the process belongs to `tables`, those
// without rows too: kdb+ wants each table in each partition. All are of one SymbolTable. Errors:
// kFailedPrecondition: the date has a partition; kUnavailable: another process writes into the
// database; kResourceExhausted: the disk is full; kInvalidArgument: a table's or column's name is
// none for a file. After an error there is no partition of the date, and what was written of it has
// been removed, if the disk let us.
absl::StatusOr<WrittenPartition> WritePartition(const PartitionWriterOptions& options, int32_t date,
                                                std::span<const Snapshot> tables);

}  // namespace tickstack
