#pragma once

// Adds late rows and corrections to the rows of a table.
//
//   old rows   a1 a2 b1        a1 a2 b1 c7    a late row comes after the old ones: of equal times
//   late rows  c7                             it is the last
//
//   old rows   a1 a2 b1        a1 A2 b1 c7    with key columns, a late row takes the place of the
//   late rows  A2 c7                          old row with the same key; others are late rows
//
// These are rows in order of arrival. The partition writer then sorts them (row_order.h).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "disk/row_reader.h"
#include "table/table.h"

namespace tickstack::disk {

struct RowMergeCounts {
  uint64_t before = 0;    // Old rows.
  uint64_t added = 0;     // Late rows without an old row of the same key.
  uint64_t replaced = 0;  // Old rows that are not among the merged ones.
  uint64_t after = 0;
};

// Makes `late` read the columns of `schema` in their order; a column `date` of late rows is left
// out. kInvalidArgument, by column, if the late rows lack one, have it with another type, or have
// one that the schema lacks.
absl::Status SelectColumns(const Schema& schema, RowReader& late);

// Appends all rows to `merged`, an empty table with the columns of `old`. `late` must have been
// prepared by SelectColumns. With `keys`, names of columns:
//
// - of late rows with the same key, the last one counts, at the place of the first of the old rows
//   that it replaces, or of itself;
// - keys are equal if all of their bytes are; nulls are equal to each other.
//
// kInvalidArgument if a key column does not exist or is nested. Other errors are those of the
// readers and of Table::Append. Memory: the late rows' keys.
absl::StatusOr<RowMergeCounts> MergeRows(RowReader& old, RowReader& late,
                                         std::span<const std::string> keys, Table& merged);

}  // namespace tickstack::disk
