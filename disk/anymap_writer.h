#pragma once

// Writes an anymap: the form in which kdb+ 3.6 and later store a column of strings or other lists.
//
//   col     page header, then a reference per row: offset in the payload | flag << 56
//   col#    page header, then the items, one after the other: short vectors and atoms packed, long
//           vectors, lists, dictionaries and tables as objects that begin at multiples of 16
//   col##   the names of all symbols in the items, if there are any
//
// Equal items do not share bytes. kdb+ does not let them do so in the columns of a table either.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "disk/column_writer.h"

namespace tickstack::disk {

// Does what WriteColumn (column_writer.h) does, for a column of type kList. An empty column becomes
// a single file with an empty list. kUnimplemented, with the row and what was found, for a function
// or for lists nested 100 deep.
absl::StatusOr<uint64_t> WriteAnymap(const Snapshot& snapshot, size_t column, const RowOrder& order,
                                     const std::string& path, const ColumnWriterOptions& options);

}  // namespace tickstack::disk
