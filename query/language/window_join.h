#pragma once

// wj and wj1: aggregates over a time window around each row (code.kx.com/q/ref/wj).
//
//   right times     1   2   3   4   5   6
//   window            [           ]          begin and end included
//   wj1                 2   3   4
//   wj              1   2   3   4            also the row that prevailed when the window began

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

enum class WindowStart {
  kPrevailing,  // wj: includes the last right row at or before the window's begin.
  kInside,      // wj1: only rows from the begin on.
};

// Returns, for each left row, its columns and each aggregate, under the name of its last column, of
// the right rows that have the left row's keys and a time in the row's window. `columns` are the
// keys and, last, the time. `windows` is a pair of lists of times, begins and ends, with one item
// per left row. An aggregate is a list of a function and the columns that are its arguments. If two
// aggregates have the same name, the second one gets a number; a left column of that name is
// replaced.
//
// Right times need not ascend: rows are taken in order of time, and rows with equal times in the
// table's order.
//
// Cost:   right rows come from the index if the key is the indexed column of a captured table, else
//         from a hash per row; they are sorted if their times do not ascend; two binary searches
//         per left row. Then `count first last max min sum avg` of one column cost a logarithm of
//         the window's rows (range_aggregates.h); any other function is called with the window's
//         items. Only columns that aggregates name are read, and only for keys that the left table
//         has.
// Errors: `type`, `length`, the name of a missing column, and those of the functions.
absl::StatusOr<TableView> WindowJoin(Context& context, WindowStart start, const Value& windows,
                                     const Value& columns, const TableView& left,
                                     const TableView& right, std::span<const Value> aggregates);

}  // namespace tickstack::query
