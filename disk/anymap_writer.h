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
#include <string_view>

#include "absl/status/statusor.h"
#include "disk/column_writer.h"

namespace tickstack::disk {

// What a stand-in begins with: the string that takes the place of what has no form on the disk
// (table/storable.h), such as "not stored: {x+y}". A function in a list, dictionary or table is
// replaced there; a row that is too large or nested too deep is replaced as a whole.
inline constexpr std::string_view kStandInPrefix = "not stored: ";

// Does what WriteColumn (column_writer.h) does, for a column of type kList. An empty column becomes
// a single file with an empty list. kDataLoss, with the row, for bytes that are no value.
absl::StatusOr<uint64_t> WriteAnymap(const Snapshot& snapshot, size_t column, const RowOrder& order,
                                     const std::string& path, const ColumnWriterOptions& options);

}  // namespace tickstack::disk
