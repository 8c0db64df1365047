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
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/byte_buffer.h"
#include "base/file.h"
#include "disk/arrow_schema.h"

namespace tickstack::disk {

// True if a file begins as Arrow's files and streams do.
bool IsArrowFile(const std::string& path);

// Threads: one owner. Memory: one batch, and the dictionaries.
class ArrowReader {
 public:
  // Reads the schema. kDataLoss, with the byte, for a file that is not in this format;
  // kUnimplemented for types of columns that have no counterpart.
  static absl::StatusOr<ArrowReader> Open(const std::string& path);

  std::span<const arrow::StreamColumn> columns() const { return columns_; }

  // Reads the next batch. Returns false at the end of the stream; a file that ends without one is
  // kDataLoss, as its writer may have died.
  absl::StatusOr<bool> Next();
  uint64_t rows() const { return rows_; }            // Rows of the batch.
  uint64_t first_row() const { return first_row_; }  // Number of its first row in the file, from 0.

  // The value of a row below rows(); the column must have such content.
  bool IsNull(size_t column, uint64_t row) const;
  bool BooleanAt(size_t column, uint64_t row) const;
  // Of integers and times. nullopt for an unsigned number of 64 bits that is too large.
  std::optional<int64_t> IntegerAt(size_t column, uint64_t row) const;
  double FloatAt(size_t column, uint64_t row) const;
  std::string_view TextAt(size_t column, uint64_t row) const;

 private:
  // A column of the batch: buffers within body_.
  struct Part {
    std::span<const std::byte> valid;  // Empty: no row is null.
    std::span<const std::byte> offsets;
    std::span<const std::byte> data;
    const std::vector<std::string>* dictionary = nullptr;
  };

  explicit ArrowReader(File file) : file_(std::move(file)) {}
  absl::StatusOr<std::optional<arrow::StreamMessage>> ReadMessage();
  absl::Status ReadExactly(uint64_t bytes, ByteBuffer& out);
  absl::Status ReadDictionary(const arrow::StreamMessage& message);
  absl::Status SetParts(const arrow::StreamMessage& message);
  absl::Status SetPart(const arrow::StreamColumn& column, const arrow::StreamMessage& message,
                       size_t& buffer, Part& part) const;
  absl::Status CheckTexts(const arrow::StreamColumn& column, uint64_t rows, const Part& part) const;
  absl::Status CheckIndices(const arrow::StreamColumn& column, uint64_t rows,
                            const Part& part) const;
  absl::Status Damaged(const absl::Status& status) const;

  File file_;
  uint64_t file_bytes_ = 0;
  uint64_t at_ = 0;          // Offset of the next message.
  uint64_t message_at_ = 0;  // Offset of the last one.
  std::vector<arrow::StreamColumn> columns_;
  std::map<int64_t, std::vector<std::string>> dictionaries_;
  ByteBuffer body_;
  std::vector<Part> parts_;
  uint64_t rows_ = 0;
  uint64_t first_row_ = 0;
};

}  // namespace tickstack::disk
