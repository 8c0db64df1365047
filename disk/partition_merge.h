#pragma once

// Adds late rows and corrections to a partition: writes its changed tables anew beside it, with all
// rows in the partition's order, and puts the new version in its place (partition_versions.h).
// Tables that do not change are hard links.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/partition_versions.h"
#include "disk/partition_writer.h"
#include "disk/row_merge.h"
#include "disk/row_reader.h"
#include "disk/table_revisions.h"
#include "mem/tier.h"
#include "table/symbols.h"
#include "table/table.h"

namespace tickstack::disk {

struct LateRows {
  std::string table;
  std::unique_ptr<RowReader> rows;
};

// Where the tables of one merge are made.
struct MergeMemory {
  SymbolTable* symbols;
  mem::Tier* tier;
};

struct MergeOptions {
  PartitionWriterOptions writer;
  // What the rows came from. The same bytes are merged into a partition only once, unless `again`
  // is set: so the command can be repeated after it was killed.
  RevisionSource source;
  bool again = false;
  // Columns by which a late row replaces an old one (row_merge.h); none: all late rows are added.
  std::vector<std::string> keys;
  // False: late rows whose `time` is not on the partition's date are an error.
  bool other_dates = false;
  bool dry_run = false;  // True: changes nothing.
  // Makes more tables from the merged ones, such as bars. They must be tables of the partition,
  // which `stored` names, and replace these. May be empty.
  std::function<absl::StatusOr<std::vector<std::shared_ptr<Table>>>(
      std::span<const Snapshot> merged, std::span<const std::string> stored, MergeMemory memory)>
      derive;
};

struct MergedTable {
  std::string table;
  RowMergeCounts rows;
  bool derived = false;  // True if MergeOptions::derive made it.
};

struct MergedPartition {
  std::string path;      // The partition's.
  uint64_t version = 0;  // The first version of the partition that has the rows.
  // True if all tables had the rows of this source already. Then nothing was changed. A table that
  // had them while others did not is left as it is.
  bool already = false;
  std::string replaced;  // Directory of the version before it.
  std::vector<MergedTable> tables;
  int64_t new_names = 0;  // Number of names that were added to `sym`.
};

// Merges rows into the partition of a date. First completes or discards what an interrupted merge
// of this partition left. After an error, the partition has all of the rows or none.
//
//   kNotFound            no such partition, or it has no such table
//   kInvalidArgument     the rows do not fit the table's columns, or are of other dates
//   kFailedPrecondition  the partition is a link or in several segments; it is being moved; the
//                        name for its old version is taken; its file system cannot exchange
//                        directories; a column has another attribute or domain than the writer
//                        gives, such as one that kdb+ wrote
//   kUnavailable         another process is writing to the database
//   kDataLoss            the partition or the rows are damaged
//
// Memory: the changed tables with all of their rows. Cost: as for WritePartition of these tables,
// and reading them. Threads: the caller's, and those of the writer's workers.
absl::StatusOr<MergedPartition> MergePartition(const MergeOptions& options, int32_t date,
                                               std::span<const LateRows> late);

// Puts the newest kept version of a partition back. First does as MergePartition does. kNotFound if
// there is no such partition, or no such version; kFailedPrecondition as for UndoVersion.
absl::StatusOr<UndoneVersion> UndoMerge(const std::string& database, int32_t date,
                                        const Storage& storage);

// Completes or discards what an interrupted merge of the partition left, and returns its kept
// versions, oldest first.
absl::StatusOr<std::vector<KeptVersion>> FinishMerge(const std::string& database, int32_t date,
                                                     const Storage& storage);

}  // namespace tickstack::disk
