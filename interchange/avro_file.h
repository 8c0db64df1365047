#pragma once

// Writes tables as Avro object container files, which have their schema in front. Source: the Avro
// specification 1.12, "Object Container Files" and "Logical Types".
//
//   boolean              boolean
//   byte                 int
//   short, int           int
//   long                 long
//   real, float          float, double
//   guid                 string, logical type uuid
//   char, symbol, list   string; a list has texts only
//   timestamp            long, local-timestamp-nanos: ns since 1970
//   datetime             long, local-timestamp-millis, rounded to ms
//   month, date          int, date; a month is its first day
//   timespan             long: ns
//   minute, second       int in their own unit: Avro's types of time end at 24 hours
//   time                 int: ms
//
// A field's attribute `q` is the column's type in q. The schema depends on types only, never on
// values. Nulls, and what is a number or a null instead of an infinity, are those of
// interchange/arrow_stream.h: all fields but booleans, bytes and chars are unions of null and their
// type.
//
// Symbols and strings of q may have any bytes, Avro's are UTF-8. A byte that is not part of valid
// UTF-8 becomes the code point U+10FF00 plus the byte. So do the bytes of the code points U+10FF80
// to U+10FFFF, which nobody assigned. Different texts therefore stay different.

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "table/schema.h"
#include "table/value.h"

namespace tickstack::interchange {

// Returns the schema as JSON: a record of the table's name in the namespace tickstack. The names
// must be those that IsSchemaName accepts.
std::string AvroSchema(const Schema& schema);

// Returns a file with the rows of a table; for a keyed one, key columns first. `name` is its name.
//
// Errors:  kInvalidArgument for a value that is not a table, a name that IsSchemaName does not
//          accept, two columns of one name, and a column of lists; the error names the column.
// Cost:    a pass over the rows; a few hundred bytes for the schema, also without rows.
// Threads: any.
absl::StatusOr<std::string> FormatAvro(std::string_view name, const Value& table);

}  // namespace tickstack::interchange
