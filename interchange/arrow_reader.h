#pragma once

// Reads a stream in Arrow's format. The format of "files" (Feather) is refused by name.
// pyarrow, Polars, pandas, DuckDB and others write it from any of their tables. Its bytes may be
// anything.
//
//   Polars writes strings in a newer type: write_ipc_stream(..., compat_level=CompatLevel.oldest())

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/file.h"
#include "interchange/arrow_column.h"
#include "interchange/arrow_schema.h"

namespace tickstack::interchange {

// True if a file begins as Arrow's files and streams do.
bool IsArrowFile(const std::string& path);

// Threads: one owner. Memory: one batch, and the dictionaries.
class ArrowReader {
 public:
  // Reads the schema. kDataLoss, with the byte, for a file that is not in this format;
  // kUnimplemented for types of columns that have no counterpart.
  static absl::StatusOr<ArrowReader> Open(const std::string& path);

  std::span<const arrow::StreamColumn> columns() const { return columns_; }

  // Reads the next batch. Returns false at the end of the stream. kDataLoss for a file that ends
  // without one, as its writer may have died, or that goes on after it, such as two streams in one
  // file. After an error there is no batch.
  absl::StatusOr<bool> Next();
  uint64_t rows() const { return rows_; }            // Rows of the batch.
  uint64_t first_row() const { return first_row_; }  // Number of its first row in the file, from 0.
  // Returns a column's values in the batch, which are valid until the next call of Next.
  const arrow::ColumnValues& values(size_t column) const { return values_[column]; }

 private:
  explicit ArrowReader(File file) : file_(std::move(file)) {}
  absl::StatusOr<std::optional<arrow::StreamMessage>> ReadMessage();
  absl::Status ReadExactly(uint64_t bytes, ByteBuffer& out);
  absl::Status ReadDictionary(const arrow::StreamMessage& message);
  absl::Status ReadValues(const arrow::StreamMessage& message);
  absl::Status Damaged(const absl::Status& status) const;

  File file_;
  uint64_t file_bytes_ = 0;
  uint64_t at_ = 0;          // Offset of the next message.
  uint64_t message_at_ = 0;  // Offset of the last one.
  std::vector<arrow::StreamColumn> columns_;
  std::map<int64_t, arrow::Dictionary> dictionaries_;
  ByteBuffer body_;
  std::vector<arrow::ColumnValues> values_;  // They refer to body_ and dictionaries_.
  uint64_t rows_ = 0;
  uint64_t first_row_ = 0;
};

}  // namespace tickstack::interchange
