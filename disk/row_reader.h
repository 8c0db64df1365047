#pragma once

// Reads rows of a table as batches, in any column order: from a stored table or from a snapshot.
//
// Threads: one owner.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "disk/splayed_table.h"
#include "table/batch.h"
#include "table/schema.h"
#include "table/table.h"

namespace tickstack::disk {

class RowReader {
 public:
  virtual ~RowReader() = default;

  // The table's columns, whatever Select chose.
  const Schema& schema() const { return schema_; }
  uint64_t rows() const { return rows_; }

  // Chooses the columns of later batches, by their numbers in the schema; at first, all in order.
  void Select(std::vector<size_t> columns) { selected_ = std::move(columns); }
  // Returns the rows [begin_row, end_row), which must be below rows(). Valid until the next call.
  // Errors: those of the stored columns. Cost: a copy of the rows.
  absl::StatusOr<BatchView> Read(uint64_t begin_row, uint64_t end_row);

 protected:
  RowReader(Schema schema, uint64_t rows);
  // Appends the elements of a column as in a ColumnView.
  virtual absl::Status AppendTo(size_t column, uint64_t begin_row, uint64_t end_row,
                                ByteBuffer& out) = 0;

 private:
  const Schema schema_;
  const uint64_t rows_;
  std::vector<size_t> selected_;
  std::vector<ByteBuffer> bytes_;    // By place in selected_.
  std::vector<ColumnView> columns_;  // The same.
};

// Reads a stored table; `name` is that of its schema. Opens all columns, and compares them with
// their checksums. Errors: kDataLoss, kNotFound and others of SplayedTable::Column and
// ColumnFile::Elements. `table` must outlive the reader. Memory: compressed columns stay
// decompressed while the reader exists.
absl::StatusOr<std::unique_ptr<RowReader>> ReadRows(const SplayedTable& table,
                                                    const std::string& name);
// Reads one column of a stored table in the same way; the schema has only this column.
absl::StatusOr<std::unique_ptr<RowReader>> ReadColumn(const SplayedTable& table,
                                                      const std::string& name, size_t column);
// Reads a snapshot.
std::unique_ptr<RowReader> ReadRows(const Snapshot& snapshot);

}  // namespace tickstack::disk
