#pragma once

// Reads the records of a CSV file (RFC 4180), whose bytes may be anything:
//
//   time,sym,note
//   09:30:00,AAPL,"a comma, a ""quote"" and
//   a line break"
//
// A line ends by LF or CRLF; the last line may lack both. A byte order mark is skipped, and so are
// empty lines.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/file.h"

namespace tickstack::interchange {

// Threads: one owner. Memory: 1 MiB, or the longest record if that is larger.
class CsvReader {
 public:
  static constexpr size_t kRecordBytesMax = size_t{64} << 20;
  static constexpr size_t kRecordFieldsMax = 65'536;

  // `delimiter` is any byte except a quote and a line break. Errors are those of opening a file.
  static absl::StatusOr<CsvReader> Open(const std::string& path, char delimiter);

  // Reads the next record. Returns false at the end of the file. The fields are valid until the
  // next call. kInvalidArgument, with the file and line, for a quote within a field that does not
  // begin with one, for bytes between a closing quote and a delimiter, for a quote that is never
  // closed, and for a record of too many bytes or fields.
  absl::StatusOr<bool> Next();
  std::span<const std::string_view> fields() const { return fields_; }

  // Returns an error with the place of the record.
  absl::Status ErrorAt(std::string_view what) const;

 private:
  CsvReader(File file, char delimiter) : file_(std::move(file)), delimiter_(delimiter) {}
  absl::Status FindEnd();
  absl::StatusOr<bool> ReadMore();
  absl::Status Split();
  absl::StatusOr<std::string_view> QuotedField(size_t& at, size_t end);

  File file_;
  char delimiter_;
  uint64_t offset_ = 0;  // Offset of the next byte in the file.
  std::string buffer_;   // Bytes that have been read, and not yet dropped.
  size_t begin_ = 0;     // The record is [begin_, end_) of the buffer, with its line break.
  size_t end_ = 0;
  uint64_t line_ = 1;  // Line at which the record begins.
  uint64_t next_line_ = 1;
  std::vector<std::string_view> fields_;
};

}  // namespace tickstack::interchange
