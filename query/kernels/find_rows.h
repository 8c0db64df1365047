#pragma once

// Rows of a table by what is in them: what keyed tables are indexed by, `t?row`, `row in t`.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// Tuples of items, a slice a column.
struct WantedRows {
  std::vector<Slice> columns;
  bool one = false;  // A single tuple, not a list of them.
};

// Reads the rows to look for. For one column: an atom or a list of atoms. For several: a list with
// an item per column, or a list of such lists. Also a dictionary, which is a row, or a table.
absl::StatusOr<WantedRows> WantedRowsOf(const Value& value, size_t columns, Budget& budget);

// Positions of the first rows of `view` whose first columns, so many as are wanted, have the
// tuples; kNoItem for those that none has. Nulls are equal to each other.
// Cost:   a hash a row on either side.
// Errors: `type` for columns of other types, `length` for more columns than there are.
absl::StatusOr<ScratchVector<uint32_t>> FindRows(const TableView& view,
                                                 std::span<const Slice> wanted, Budget& budget);

}  // namespace tickstack::query
