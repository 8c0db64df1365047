#pragma once

// Finds rows of a table by their items: for indexing keyed tables, `t?row`, and `row in t`.

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

// True if a value is one key of `columns` columns, not a list or table of keys.
bool IsOneKey(const Value& value, size_t columns);

// Converts a value to the tuples to look for. For one column it is an atom or a list of atoms. For
// several columns it is a list with an item per column, or a list of such lists. In both cases it
// may also be a dictionary, which is one row, or a table.
absl::StatusOr<WantedRows> WantedRowsOf(const Value& value, size_t columns, Budget& budget);

// Returns for each wanted tuple the position of the first row of `view` whose first columns have
// these items; kNoItem if there is none. Nulls are equal to each other.
//
// Cost:   a hash per row of `view` and per tuple.
// Errors: `type` for columns of other types, `length` if more columns are wanted than there are.
absl::StatusOr<ScratchVector<uint32_t>> FindRows(const TableView& view,
                                                 std::span<const Slice> wanted, Budget& budget);

}  // namespace tickstack::query
