#pragma once

// Writes an anymap: the form in which kdb+ 3.6 and later store a column of strings or other lists.
//
//   col     page header, then a reference per row: offset in the payload | flag << 56
//   col#    page header, then the items, one after the other: short vectors and atoms packed, long
//           vectors, lists, dictionaries and tables as objects that begin at multiples of 16
//   col##   the names of all symbols in the items, if there are any
//
// kdb+ lets equal items share bytes, except in the columns of a table; neither do we there.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "disk/column_writer.h"

namespace tickstack::disk {

// Like WriteColumn, for a column of type kList. An empty column is a single file with an empty
// list. kUnimplemented, with the row and what was found: a function, or lists nested 100 deep.
absl::StatusOr<uint64_t> WriteAnymap(const Snapshot& snapshot, size_t column, const RowOrder& order,
                                     const std::string& path, const ColumnWriterOptions& options);

}  // namespace tickstack::disk
