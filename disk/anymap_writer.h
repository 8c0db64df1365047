#pragma once

// An anymap: what kdb+ 3.6 and later make of a column of strings or other lists.
//
//   col     page header, then a reference per row: offset in the payload | flag << 56
//   col#    page header, then the items, one after the other: short vectors and atoms packed, long
//           vectors, lists, dictionaries and tables as objects that begin at multiples of 16
//   col##   the names of all symbols in the items, if there are any
//
// kdb+ lets equal items share bytes and does not do so for the columns of a table; nor do we.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "disk/column_writer.h"

namespace tickstack {

// As WriteColumn, for a column of type kList. An empty column is one file, of an empty list.
// kUnimplemented, with the row and what was found: a function, or lists 100 deep.
absl::StatusOr<uint64_t> WriteAnymap(const Snapshot& snapshot, size_t column, const RowOrder& order,
                                     const std::string& path, const ColumnWriterOptions& options);

}  // namespace tickstack
