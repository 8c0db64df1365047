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

// Sorts rows by the first column, rows with equal items by the second, and so on, and returns their
// positions in that order, at most the first `wanted` ones. Equal rows keep their order in either
// direction. sort_keys.h defines the order of items.
//
// Cost:   a radix sort on the bits in which keys differ: one pass over the rows for every 10 bits.
//         Several columns are sorted together if these bits fit into 64. Sorted input takes a
//         single pass. If `wanted` is much smaller than the number of rows, the first positions are
//         selected and only they are sorted. Takes 24 bytes per row while it runs.
// Errors: `length` if the columns' counts differ, and those of SortKeys().
absl::StatusOr<ScratchVector<uint32_t>> Grade(std::span<const Slice> columns, Direction direction,
                                              Budget& budget, size_t wanted = SIZE_MAX);

// Returns the items of a vector or list in order; with kAscending, with the attribute sorted.
absl::StatusOr<Value> Sorted(const Slice& slice, Direction direction, Budget& budget);

// Returns the view's rows at these positions. Its columns are deferred (view_column.h).
absl::StatusOr<TableView> RowsInOrder(const TableView& view, ScratchVector<uint32_t> positions,
                                      Budget& budget);

// Returns the row numbers at these positions in `rows`.
absl::StatusOr<ScratchVector<uint32_t>> RowsAt(const RowSet& rows,
                                               ScratchVector<uint32_t> positions, Budget& budget);

}  // namespace tickstack::query
