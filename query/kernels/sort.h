#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "base/scratch.h"
#include "query/columns/any_column.h"
#include "query/columns/budget.h"
#include "query/columns/rows.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

enum class Direction { kAscending, kDescending };

// Returns the positions of the columns' rows in order: by the first column, equal ones by the
// second, and so on; equal rows keep their order in either direction. sort_keys.h defines the order
// of items. Returns at most the first `wanted` positions.
//
// Cost: 24 bytes per row while it runs. A radix sort on the bits in which keys differ, with columns
//       packed into 64 bits as far as they fit: one pass over the rows for every 10 bits. Sorted
//       input takes a single pass. If `wanted` is much smaller than the number of rows, the first
//       positions are selected and only they are sorted.
// Errors: `length` if the columns' counts differ, and those of SortKeys().
absl::StatusOr<ScratchVector<uint32_t>> Grade(std::span<const Slice> columns, Direction direction,
                                              Budget& budget, size_t wanted = SIZE_MAX);

// Returns the items of a vector or list in order, with the attribute sorted if they ascend.
absl::StatusOr<Value> Sorted(const Slice& slice, Direction direction, Budget& budget);

// Returns the view's rows at these positions. Columns are deferred: gathered when they are needed.
absl::StatusOr<TableView> RowsInOrder(const TableView& view, ScratchVector<uint32_t> positions,
                                      Budget& budget);

// Returns the row numbers at these positions of the set.
absl::StatusOr<ScratchVector<uint32_t>> RowsAt(const RowSet& rows,
                                               ScratchVector<uint32_t> positions, Budget& budget);

}  // namespace tickstack::query
