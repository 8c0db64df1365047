#pragma once

// Writes a table in Arrow's streaming format (Arrow IPC), which data frame libraries read without
// parsing. Source: the format's public description (Columnar.rst, Schema.fbs, Message.fbs).
//
//   boolean               Bool
//   byte, short, int      UInt8, Int16, Int32
//   long                  Int64
//   real, float           Float32, Float64
//   char, symbol, string  Utf8; U+FFFD for invalid UTF-8
//   guid                  FixedSizeBinary(16) with the extension type arrow.uuid
//   timestamp, datetime   Timestamp in ns without a time zone
//   month, date           Date32; a month is its first day
//   minute, second        Time32 in s, \ if each value is a time of day (not negative, below
//   time                  Time32 in ms, | 24 hours); otherwise Duration in the same unit
//   timespan              Time64 in ns, /
//
// Nulls are null, but a blank char and an empty string are texts. Infinite floats are kept, and
// infinite integers become ordinary numbers. Infinities of types of time become null, and so do
// times that do not fit into 64 bits of ns since 1970 (from 2262-04-11 on), and months of years
// with five digits.

#include <string>

#include "absl/status/statusor.h"
#include "table/value.h"

namespace tickstack::interchange {

// Returns a stream with the rows of a table; for a keyed one, key columns first.
//
// Errors:  kInvalidArgument for a value that is not a table, a column of lists, and a column with
//          more than 2 GiB of texts in 65,536 rows; the error names the column.
// Cost:    a pass over each column. Memory: the stream's, and one batch of 65,536 rows.
// Threads: any.
absl::StatusOr<std::string> FormatArrow(const Value& table);

}  // namespace tickstack::interchange
