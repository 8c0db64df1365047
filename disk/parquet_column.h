#pragma once

// One column of a Parquet file: its type, and its rows as pages. See parquet.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "disk/thrift_compact.h"
#include "table/value.h"

namespace tickstack::disk::parquet {

// Numbers from parquet.thrift.
enum class Physical : int32_t {
  kBoolean = 0,
  kInt32 = 1,
  kInt64 = 2,
  kFloat = 4,
  kDouble = 5,
  kByteArray = 6,
  kFixed = 7,
};
enum class Encoding : int32_t { kPlain = 0, kRle = 3, kDictionary = 8 };
enum class Codec : int32_t { kZstd = 6 };

enum class Meaning { kNumber, kUnsignedByte, kShort, kText, kUuid, kTimestamp, kDate, kTimeOfDay };

// Where the file has the pages of a column and group of rows.
struct Chunk {
  int64_t begin = 0;
  int64_t data_page = 0;
  bool has_dictionary = false;
  int64_t rows = 0;
  int64_t nulls = 0;
  int64_t bytes = 0;  // Uncompressed, headers included.
  int64_t bytes_in_file = 0;
};

// Sets a bit; bits are numbered from the lowest of the first byte, as Parquet packs them.
inline void SetBit(std::string& bits, size_t i) {
  bits[i / 8] = static_cast<char>(bits[i / 8] | 1 << (i % 8));
}

// Records which rows of a range are not null.
class Validity {
 public:
  explicit Validity(size_t rows) : bits_((rows + 7) / 8, '\0'), rows_(rows), nulls_(rows) {}
  void Set(size_t row) {
    SetBit(bits_, row);
    --nulls_;
  }
  void Append(bool valid) {
    if (rows_ % 8 == 0) bits_ += '\0';
    ++rows_;
    ++nulls_;
    if (valid) Set(rows_ - 1);
  }
  const std::string& bits() const { return bits_; }
  size_t rows() const { return rows_; }
  size_t nulls() const { return nulls_; }

 private:
  std::string bits_;
  size_t rows_, nulls_;
};

class ColumnWriter {
 public:
  // `values` is a column of a table and must outlive this. Errors: kInvalidArgument for one that
  // holds lists, or a text of more than 256 MiB.
  static absl::StatusOr<ColumnWriter> For(std::string_view name, const Value& values);

  const std::string& name() const { return name_; }  // UTF-8.
  Physical physical() const { return physical_; }
  void WriteSchema(ThriftWriter& out) const;  // The fields of its SchemaElement.

  // Appends the pages of rows [begin, end) to a file.
  Chunk WriteRows(size_t begin, size_t end, std::string& file) const;

 private:
  ColumnWriter(std::string_view name, const Value& values);

  bool IsTimeOfDay() const;
  // Returns an item's text, and in `null` whether it is null.
  std::string_view TextAt(size_t row, bool& null) const;
  // Returns the values back to back in PLAIN encoding, without nulls, whose bits are not set in
  // `valid`.
  std::string PlainNumbers(size_t begin, size_t end, Validity& valid) const;
  // Writes names with a dictionary; returns false, and writes nothing, if the names are too long
  // for one.
  bool WriteNames(size_t begin, size_t end, std::string& file, Chunk& chunk) const;

  std::string name_;
  const Value& values_;
  Physical physical_ = Physical::kInt64;
  Meaning meaning_ = Meaning::kNumber;
};

}  // namespace tickstack::disk::parquet
