#pragma once

// wj and wj1: aggregates over a time window around each row (code.kx.com/q/ref/wj).
//
//   right times     1   2   3   4   5   6
//   window            [           ]          its begin and end belong to it
//   rows for wj1        2   3   4
//   rows for wj     1   2   3   4            includes the row that prevailed when the window began

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

// Returns the left table with a column for each aggregate. The item of a left row is the aggregate
// of the right rows that have the same keys and a time in the left row's window.
//
//   windows      a pair of lists of times, the begins and the ends, with one item per left row
//   columns      the names of the keys and, last, of the time
//   aggregates   each is a list of a function and the columns that are its arguments. Its name in
//                the result is that of its last column. If two aggregates have the same name, the
//                second one gets a number; a left column with the name of an aggregate is replaced.
//
// Right times need not ascend: a function gets the rows in order of time, and rows with equal times
// in the table's order.
//
// Cost:   if the key is the indexed column of a captured table, the index gives the right rows of
//         each key; otherwise a hash per row. Right rows are sorted if their times do not ascend.
//         Then two binary searches per left row. `count first last max min sum avg` of one column
//         take a logarithm of the window's rows (range_aggregates.h); any other function is called
//         with the window's items. Only columns that aggregates name are read, and only for keys
//         that the left table has.
// Errors: `type`, `length`, the name of a missing column, and those of the functions.
absl::StatusOr<TableView> WindowJoin(Context& context, WindowStart start, const Value& windows,
                                     const Value& columns, const TableView& left,
                                     const TableView& right, std::span<const Value> aggregates);

}  // namespace tickstack::query
