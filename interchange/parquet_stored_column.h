#pragma once

// A column of a stored table as pages of a Parquet file, for exports. parquet_column.h does the
// same for a column of an answer, where the type in the file may depend on the values. Here it
// depends on the column's type alone, since all files of a table must have the same schema.
//
//   type                  written as                                     for Spark
//   boolean               BOOLEAN
//   byte, short, int      INT32 as UINT_8, INT_16, INT_32
//   long                  INT64
//   real, float           FLOAT, DOUBLE
//   char, symbol, string  BYTE_ARRAY as STRING; U+FFFD for invalid UTF-8
//   guid                  FIXED_LEN_BYTE_ARRAY(16) as UUID               STRING
//   timestamp, datetime   INT64 as TIMESTAMP in ns, without a time zone  in us, rounded down
//   month, date           INT32 as DATE; a month is its first day
//   timespan              INT64: ns
//   minute, second, time  INT32 as TIME in ms                            INT32: units of the type
//
// Nulls are null; a blank char and an empty string are texts. Infinite floats are kept, and
// infinite integers become ordinary numbers. Infinities of types of time become null. Any other
// value that the type in the file cannot hold is an error with its row: a time of day below 0 or
// from 24 hours on, a timestamp from 2262-04-11 on in ns, a month outside of the years 1 to 9999.

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/column_file.h"
#include "interchange/parquet_elements.h"
#include "interchange/parquet_pages.h"
#include "interchange/parquet_texts.h"
#include "table/schema.h"
#include "table/symbols.h"

namespace tickstack::interchange::parquet {

// Threads: one owner. Memory: the elements of the rows that are written at once. If a compressed
// column has texts or lists, also the whole decompressed column, in the cache of decompressed
// files.
class StoredColumnWriter {
 public:
  // `file` is the column in one partition. nullptr: the partition lacks the column, and its rows
  // are null. `symbols` has the names of the file's domains, and must outlive the writer.
  // kInvalidArgument if the file has rows of another type than `column`.
  static absl::StatusOr<StoredColumnWriter> Make(const ColumnSpec& column, Dialect dialect,
                                                 std::shared_ptr<const disk::ColumnFile> file,
                                                 const SymbolTable& symbols);

  // Appends the pages of a range of rows. Errors name the file: kInvalidArgument, with the row, for
  // a value that the file cannot hold; kDataLoss for damage.
  absl::StatusOr<Chunk> WriteRows(disk::RowRange rows, PageWriter& pages) const;

 private:
  StoredColumnWriter(Type type, Dialect dialect, std::shared_ptr<const disk::ColumnFile> file,
                     const SymbolTable& symbols)
      : type_(type), dialect_(dialect), file_(std::move(file)), symbols_(&symbols) {}

  absl::Status WriteFixed(disk::RowRange rows, PageWriter& pages, Chunk& chunk) const;
  absl::Status WriteEnum(disk::RowRange rows, PageWriter& pages, Chunk& chunk) const;
  absl::StatusOr<uint32_t> NumberOf(int64_t position, uint64_t row, Dictionary& names) const;
  absl::Status WriteItems(disk::RowRange rows, PageWriter& pages, Chunk& chunk) const;

  Type type_;
  Dialect dialect_;
  std::shared_ptr<const disk::ColumnFile> file_;
  const SymbolTable* symbols_;
};

}  // namespace tickstack::interchange::parquet
