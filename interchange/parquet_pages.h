#pragma once

// Pages of a Parquet file: the bytes of one column for one group of rows. See parquet.h.

#include <zstd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "interchange/thrift_compact.h"

namespace tickstack::interchange::parquet {

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
enum class Codec : int32_t { kNone = 0, kZstd = 6 };

// What the numbers or bytes of a column mean: Parquet's logical type.
enum class Meaning {
  kNumber,
  kUnsignedByte,
  kShort,
  kText,
  kUuid,
  kTimestamp,    // ns since 1970 without a time zone.
  kTimestampUs,  // The same in us.
  kDate,
  kTimeOfDay,  // ms in a column of INT32, ns in a column of INT64.
};

// A column's entry in the file's schema.
struct ColumnSchema {
  std::string name;  // UTF-8.
  Physical physical = Physical::kInt64;
  Meaning meaning = Meaning::kNumber;

  void Write(ThriftWriter& out) const;  // Writes the fields of the column's SchemaElement.
};

// The pages of one column for one group of rows: where they are in the file, and what they hold.
struct Chunk {
  int64_t begin = 0;
  int64_t data_page = 0;
  bool has_dictionary = false;
  Codec codec = Codec::kZstd;
  int64_t rows = 0;
  int64_t nulls = 0;
  int64_t bytes = 0;  // Uncompressed, headers included.
  int64_t bytes_in_file = 0;
  // The smallest and the largest value that is not null, in PLAIN encoding but without the length
  // of a text; unset if unknown.
  bool has_extremes = false;
  std::string min;
  std::string max;
};

template <typename T>
void AppendBytes(std::string& out, T value) {
  static_assert(std::endian::native == std::endian::little);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Appends a text in PLAIN encoding: its length, and its bytes as UTF-8. Returns these bytes, which
// are valid until `out` changes.
std::string_view AppendText(std::string& out, std::string_view text);

// A page of numbers has at most this many rows, so one of 8 bytes per row has 1 MiB.
inline constexpr size_t kRowsPerPage = size_t{1} << 17;

// A page's length has 31 bits, and an invalid UTF-8 byte becomes three.
inline constexpr size_t kTextBytesMax = size_t{256} << 20;

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

// Encodes numbers of `width` bits as one bit-packed run or, if all are equal, as a repeated run.
std::string HybridRun(std::span<const uint32_t> numbers, int width);

// Compresses pages and appends them to bytes of a file. Threads: one owner.
class PageWriter {
 public:
  // `level`: zstd's level; 0 leaves pages uncompressed.
  explicit PageWriter(int level);

  // The pages so far, which begin at byte `offset` of the file. The caller may take them away, and
  // then adds their size to `offset`.
  std::string bytes;
  int64_t offset = 0;
  int64_t end() const { return offset + static_cast<int64_t>(bytes.size()); }

  // Begins the pages of a column for `rows` rows.
  Chunk Begin(size_t rows) const;
  // Appends the dictionary of a chunk: `values` values in PLAIN encoding. It must be the chunk's
  // first page.
  void WriteDictionary(size_t values, std::string_view plain, Chunk& chunk);
  // Appends a page of rows with the values of those that are not null.
  void WriteRows(const Validity& valid, Encoding encoding, std::string_view values, Chunk& chunk);
  // Appends a page of rows as numbers of values in a dictionary of `entries` values.
  void WriteIndices(const Validity& valid, size_t entries, std::span<const uint32_t> numbers,
                    Chunk& chunk);

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ::ZSTD_freeCCtx(context); }
  };

  void WritePage(bool is_dictionary, size_t values, Encoding encoding, std::string_view body,
                 Chunk& chunk);
  std::string_view Packed(std::string_view body);

  const int level_;
  const std::unique_ptr<ZSTD_CCtx, Free> context_;
  std::string packed_;  // Memory for one compressed page.
};

}  // namespace tickstack::interchange::parquet
