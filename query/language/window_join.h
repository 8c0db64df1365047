#pragma once

// wj and wj1: what happened in a window of time around each row (code.kx.com/q/ref/wj).
//
//   right times     1   2   3   4   5   6
//   window            [           ]          begin and end included
//   wj1                 2   3   4
//   wj              1   2   3   4            and the row that prevailed when the window began

#include <span>

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

enum class WindowStart {
  kPrevailing,  // wj: the last right row at or before the begin of the window is in it.
  kInside,      // wj1: rows from the begin on.
};

// For each left row its columns and, under the name of its last column, each aggregate of the right
// rows whose keys are the left row's and whose times are in the row's window. `columns` are the
// keys and, last, the time. `windows` is a pair of lists of times, begins and ends, one for each
// left row. An aggregate is a list of a function and the columns that are its arguments. A name
// that another aggregate has gets a number; a column of the left table is replaced.
//
// Right times may go down: rows are taken in the order of their times, equal ones in the table's.
//
// Cost:   right rows come out of the index where the key is a captured table's indexed column, else
//         of a hash a row; they are sorted where their times go down; two binary searches a left
//         row. `count first last max min sum avg` of one column then cost a logarithm of the
//         window's rows, however long it is (range_aggregates.h); any other function is called with
//         the window's items. Only columns that aggregates name are read, and only for keys that
//         the left table has.
// Errors: `type`, `length`, the name of a column that is missing, those of the functions.
absl::StatusOr<TableView> WindowJoin(Context& context, WindowStart start, const Value& windows,
                                     const Value& columns, const TableView& left,
                                     const TableView& right, std::span<const Value> aggregates);

}  // namespace tickstack::query
