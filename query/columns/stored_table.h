#pragma once

// A stored table as queries see it: the partitions of a table in a database on disk, or a splayed
// table in the database's root, which is then the only part.
//
//   trade    date       time ...          date is in no file: it is the same for all rows of a part
//            2024.01.29 | db/2024.01.29/trade
//            2024.01.30 | db/2024.01.30/trade
//
// Conditions on the partition column choose among partitions before any file is opened
// (partition_conditions.h). The chosen partitions are a StoredParts: row numbers run through all of
// its parts, and each column is opened when it is first used (stored_column.h).

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "disk/database.h"
#include "disk/splayed_table.h"
#include "query/columns/budget.h"
#include "table/chunk_layout.h"
#include "table/schema.h"
#include "table/symbols.h"
#include "table/value.h"

namespace tickstack::query {

// Immutable; any thread. Keeps its database alive.
class StoredTable {
 public:
  // Returns nullptr if the database has no such table. Opens the columns of a splayed table to get
  // their types: a column whose file is damaged counts as a list, and is an error once it is read.
  static std::shared_ptr<const StoredTable> Find(std::shared_ptr<const disk::Database> database,
                                                 std::string_view name);

  // Includes the partition column, as the first one, if there is one.
  const Schema& schema() const { return schema_; }
  const SymbolTable& symbols() const { return database_->domains()->symbols(); }
  bool is_partitioned() const { return partitioned_ != nullptr; }
  size_t partitions() const { return is_partitioned() ? database_->partitions().size() : 1; }
  // Returns the value of the partition column for each partition of a partitioned table.
  Value PartitionValues() const;
  int64_t PartitionValue(size_t partition) const {
    return database_->partitions()[partition].value;
  }
  // nullptr if the partition has no such table.
  absl::StatusOr<const disk::SplayedTable*> In(size_t partition) const;
  // Returns the attribute in the file of the newest partition whose table can be read, or that
  // file's error.
  absl::StatusOr<Attribute> AttributeOf(size_t column) const;

 private:
  StoredTable() = default;

  std::shared_ptr<const disk::Database> database_;
  const disk::PartitionedTable* partitioned_ = nullptr;  // Set for a partitioned table.
  const disk::SplayedTable* splayed_ = nullptr;          // Set for a splayed table.
  Schema schema_;
};

// The part of a table in one partition. It has rows.
struct StoredPart {
  size_t partition;
  const disk::SplayedTable* table;
  size_t begin_row;  // In numbers that run through all parts.
  size_t rows;
};

// The parts of a stored table that a query looks at. Immutable; any thread.
class StoredParts {
 public:
  // `partitions` are ascending partition numbers; those without the table or without rows are
  // dropped. Cost: opens one column of each, the first time. Errors: of a file whose rows cannot be
  // counted; `limit` if the process has no mappings left.
  static absl::StatusOr<std::shared_ptr<const StoredParts>> Open(
      std::shared_ptr<const StoredTable> table, std::span<const uint32_t> partitions,
      const Budget& budget);
  StoredParts(const StoredParts&) = delete;
  StoredParts& operator=(const StoredParts&) = delete;

  const StoredTable& table() const { return *table_; }
  std::span<const StoredPart> parts() const { return parts_; }
  size_t rows() const { return begins_.back(); }
  // One chunk per part.
  ChunkLayout layout() const {
    return parts_.empty() ? ChunkLayout::OneChunk() : ChunkLayout::OfBegins(begins_);
  }
  const StoredPart& PartOf(size_t row) const { return parts_[layout().NumberOf(row)]; }

  // Returns an item of a column, and opens the column only in the row's part.
  absl::StatusOr<Value> At(size_t column, size_t row) const;

 private:
  explicit StoredParts(std::shared_ptr<const StoredTable> table) : table_(std::move(table)) {}

  const std::shared_ptr<const StoredTable> table_;
  std::vector<StoredPart> parts_;
  std::vector<size_t> begins_ = {0};  // As ChunkLayout::OfBegins wants them.
};

// A column in one part: its file, or a value that all rows have.
struct StoredColumnPart {
  std::shared_ptr<const disk::ColumnFile>
      file;        // nullptr if there is none: every row has `constant`.
  Value constant;  // The partition's value, or the null of a column that the part lacks.
};
// Opens a column in a part. kDataLoss if the file's type differs from that of the table's column;
// `limit` if the process has no mappings left.
absl::StatusOr<StoredColumnPart> OpenPart(const StoredTable& table, const StoredPart& part,
                                          size_t column);

}  // namespace tickstack::query
