#pragma once

// Writes a table as an Apache Parquet file, for programs that read neither kdb+'s files nor its
// messages. Source: the format's public description (parquet.thrift, Encodings.md,
// LogicalTypes.md).
//
// Debian 12 has no library that writes Parquet, and a table of atoms and texts needs only a small
// part of the format: one page of values for each column and group of rows, a dictionary page for
// names, and zstd compression.
//
//   boolean               BOOLEAN
//   byte, short, int      INT32 as UINT_8, INT_16, INT_32
//   long                  INT64
//   real, float           FLOAT, DOUBLE
// char, symbol, string BYTE_ARRAY as STRING; U+FFFD for invalid UTF-8
//   guid                  FIXED_LEN_BYTE_ARRAY(16) as UUID
//   timestamp, datetime   INT64 as TIMESTAMP, ns without a time zone
//   month, date           INT32 as DATE; a month is its first day
//   minute, second, time  INT32 as TIME in ms, and
//   timespan              INT64 as TIME in ns, if each value is a time of day (not negative, below
//                         24 hours); otherwise numbers in the type's unit
//
// Nulls are null, but a blank char and an empty string are texts. Infinite floats are kept, and
// infinite integers become ordinary numbers. Infinite dates and timestamps become null, and so do
// times that do not fit into 64 bits of ns since 1970 (from 2262-04-11 on), and months of years
// with five digits.

#include <string>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::interchange {

// Returns the bytes of a file with the rows of a table; for a keyed one, key columns first.
//
// Errors:  kInvalidArgument for a value that is not a table, for a column of lists, and for a text
//          of more than 256 MiB; the error names the column and row.
// Cost:    a pass over each column, and compression. Memory: the file's, and one column of 131,072
//          rows.
// Threads: any.
absl::StatusOr<std::string> FormatParquet(const Value& table);

}  // namespace tickstack::interchange
