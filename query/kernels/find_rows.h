#pragma once

// Finds rows of a table by their contents: for indexing keyed tables, `t?row`, and `row in t`.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// Tuples of items to look for, one slice per column.
struct WantedRows {
  std::vector<Slice> columns;
  bool one = false;  // True for a single tuple, not a list of them.
};

// Reads the rows to look for. For one column: an atom or a list of atoms. For several: a list with
// an item per column, or a list of such lists. Also a dictionary, which is one row, or a table.
absl::StatusOr<WantedRows> WantedRowsOf(const Value& value, size_t columns, Budget& budget);

// Returns the positions of the first rows of `view` whose leading columns have the wanted tuples;
// kNoItem for tuples that no row has. Nulls are equal to each other.
// Cost:   a hash per row on either side.
// Errors: `type` for columns of other types, `length` if more columns are wanted than there are.
absl::StatusOr<ScratchVector<uint32_t>> FindRows(const TableView& view,
                                                 std::span<const Slice> wanted, Budget& budget);

}  // namespace tickstack::query
