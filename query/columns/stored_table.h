#pragma once

// A stored table as queries see it: the partitions of a table in a database on disk; or a splayed
// table in the database's root, which has a single part.
//
//   trade    date       time ...          date is in no file: it is the same for all rows of a part
//            2024.01.29 | db/2024.01.29/trade
//            2024.01.30 | db/2024.01.30/trade
//
// Conditions on the partition column choose among partitions before any file is opened
// (query/language/partitions.h). The chosen partitions become one StoredParts, which numbers the
// rows through all parts. Each column is opened when it is first used (stored_column.h).

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
  // their types. A column whose file is damaged has the type list, and reading it gives an error.
  static std::shared_ptr<const StoredTable> Find(std::shared_ptr<const disk::Database> database,
                                                 std::string_view name);

  // Returns all columns. In a partitioned table, the first one is the partition column.
  const Schema& schema() const { return schema_; }
  const SymbolTable& symbols() const { return database_->domains()->symbols(); }
  bool is_partitioned() const { return partitioned_ != nullptr; }
  size_t partitions() const { return is_partitioned() ? database_->partitions().size() : 1; }
  // Returns the value of the partition column for each partition of a partitioned table.
  Value PartitionValues() const;
  int64_t PartitionValue(size_t partition) const {
    return database_->partitions()[partition].value;
  }
  // Returns the table in a partition; nullptr if the partition does not have it.
  absl::StatusOr<const disk::SplayedTable*> In(size_t partition) const;
  // Returns the column's attribute in the newest partition whose table can be read, or the error of
  // the column's file there.
  absl::StatusOr<Attribute> AttributeOf(size_t column) const;

 private:
  StoredTable() = default;

  std::shared_ptr<const disk::Database> database_;
  const disk::PartitionedTable* partitioned_ = nullptr;  // Set for a partitioned table.
  const disk::SplayedTable* splayed_ = nullptr;          // Set for a splayed table.
  Schema schema_;
};

// The part of a table in one partition. It has at least one row.
struct StoredPart {
  size_t partition;
  const disk::SplayedTable* table;
  size_t begin_row;  // Number of its first row; rows are numbered through all parts.
  size_t rows;
};

// The parts of a stored table that a query reads. Immutable; any thread.
class StoredParts {
 public:
  // `partitions` are ascending partition numbers. A partition without the table, or without rows,
  // is left out. Cost: opens one column of each partition the first time, to count its rows.
  // Errors: that of a file whose rows cannot be counted; `limit` if the process has no mappings
  // left.
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

  // Returns the item of a column in a row. Opens the column only in the row's part.
  absl::StatusOr<Value> At(size_t column, size_t row) const;

 private:
  explicit StoredParts(std::shared_ptr<const StoredTable> table) : table_(std::move(table)) {}

  const std::shared_ptr<const StoredTable> table_;
  std::vector<StoredPart> parts_;
  std::vector<size_t> begins_ = {0};  // The argument of ChunkLayout::OfBegins.
};

// A column in one part: its file, or the value that all rows of the part have.
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
