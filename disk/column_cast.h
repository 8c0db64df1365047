#pragma once

// Converts the values of a column to another type, without loss.

#include <cstdint>

#include "absl/status/status.h"
#include "base/byte_buffer.h"
#include "table/batch.h"
#include "table/types.h"

namespace tickstack::disk {

// True if CastColumn converts between these types:
//
//   short int long real float   to each other; boolean and byte to each of them
//   second minute time          to timespan
//   symbol                      to strings, and back
bool CanCast(Type from, Type to);

// Appends the converted elements of a column of a batch, in the form of a ColumnView. Nulls and
// infinities become those of the new type. kInvalidArgument, with the row and the value, if the new
// type does not have a value, such as 1.5 or 70000 for a short. `first_row` is the number of the
// batch's first row in its table. CanCast must be true.
absl::Status CastColumn(const ColumnView& from, uint64_t first_row, Type to, ByteBuffer& out);

}  // namespace tickstack::disk
