#pragma once

// Changes the columns of a table in all partitions: adds, renames, casts or drops one. Each
// partition gets a new version (partition_versions.h) whose other files are hard links:
//
//   1  every partition   a new version is prepared, which readers do not see
//   2  every partition   the version is exchanged, oldest partition first; some system calls each
//
// A migration that died is repeated by the same command: it uses what is prepared, unless a file of
// the partition was replaced since, and leaves partitions that have the change already. Between the
// first and the last exchange, readers that open the database find some partitions with the change
// and some without; the newest partition still has the old columns, so the rest is read as nulls,
// or is refused if the type differs.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/worker_pool.h"
#include "disk/storage.h"
#include "table/types.h"
#include "table/value.h"

namespace tickstack::disk {

struct ColumnChange {
  enum class Kind : uint8_t { kAdd, kRename, kRetype, kDrop };
  Kind kind = Kind::kAdd;
  std::string column;
  std::string new_name;      // For kRename.
  Type type = Type::kFloat;  // For kAdd and kRetype; kList for strings.
  Value value;               // For kAdd: an atom of the type, or a string.

  // Returns the change as text, by which an interrupted migration is recognised.
  std::string text(std::string_view table) const;
};

// Returns the value of a new column from a text: a number, a symbol, a char, a string, or a date.
// "" is the type's null. kInvalidArgument if the text is none of that type.
absl::StatusOr<Value> ParseDefault(Type type, std::string_view text);

struct MigrationOptions {
  std::string database;
  WorkerPool* workers = nullptr;  // They help to write columns.
  StorageObserver* observer = nullptr;
  bool dry_run = false;  // True: changes nothing.
};

struct Migration {
  size_t changed = 0;                 // Partitions.
  size_t had_it = 0;                  // Partitions that had the change already.
  size_t without = 0;                 // Partitions that lack the table.
  std::vector<std::string> replaced;  // Directories of the versions before the change.
};

// Changes the table in all partitions that have it. Holds the lock of the database, so no day is
// written meanwhile.
//
//   kNotFound            no partition has the table
//   kInvalidArgument     in some partition, the column is missing, exists already, or has a type
//                        from which there is no cast; or a value does not fit (column_cast.h)
//   kFailedPrecondition  the column has an attribute, such as the parted `sym`; a partition is a
//                        link or is being moved; or a file system cannot exchange directories
//   kUnavailable         another process is writing to the database
//   kDataLoss            a column that must be read is damaged
//
// After an error in step 1 or in the first exchange, no partition is changed, and what was prepared
// is removed. Memory: one column of one partition.
absl::StatusOr<Migration> MigrateTable(const MigrationOptions& options, const std::string& table,
                                       const ColumnChange& change);

}  // namespace tickstack::disk
