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

// The pages of one column for one group of rows: where they are in the file, and what they hold.
struct Chunk {
  int64_t begin = 0;
  int64_t data_page = 0;
  bool has_dictionary = false;
  int64_t rows = 0;
  int64_t nulls = 0;
  int64_t bytes = 0;  // Uncompressed, headers included.
  int64_t bytes_in_file = 0;
};

// Sets bit `i`. Bits are numbered from the lowest bit of the first byte, as Parquet packs them.
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
  // `values` is a column of a table, which must outlive the writer. kInvalidArgument if it holds
  // lists, or a text of more than 256 MiB.
  static absl::StatusOr<ColumnWriter> For(std::string_view name, const Value& values);

  const std::string& name() const { return name_; }  // UTF-8.
  Physical physical() const { return physical_; }
  void WriteSchema(ThriftWriter& out) const;  // Writes the fields of the column's SchemaElement.

  // Appends the pages of rows [begin, end) to a file.
  Chunk WriteRows(size_t begin, size_t end, std::string& file) const;

 private:
  ColumnWriter(std::string_view name, const Value& values);

  bool IsTimeOfDay() const;
  // Returns an item's text, and sets `null` to whether the item is null.
  std::string_view TextAt(size_t row, bool& null) const;
  // Returns the values in PLAIN encoding, back to back. Nulls are left out, and all other rows are
  // set in `valid`.
  std::string PlainNumbers(size_t begin, size_t end, Validity& valid) const;
  // Writes names with a dictionary. If the names are too long for one, writes nothing and returns
  // false.
  bool WriteNames(size_t begin, size_t end, std::string& file, Chunk& chunk) const;

  std::string name_;
  const Value& values_;
  Physical physical_ = Physical::kInt64;
  Meaning meaning_ = Meaning::kNumber;
};

}  // namespace tickstack::disk::parquet
