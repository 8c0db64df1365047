#pragma once

// The national best bid and offer (NBBO): the best prices over all venues at which a symbol trades.
// It is our extension of q: q has no join or aggregate that computes it in one pass.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// nbbo[columns; table]. `columns` names those of the symbol, the venue, the bid and the ask, and
// optionally of the bid's and the ask's size. For every row, in the table's order, it returns the
// highest bid and the lowest ask among the last quotes of all venues of its symbol, after that
// row's quote.
//
//   result   time (if the table has that column), symbol, bid, ask[, bid size, ask size], under the
//            names that they have in the table; time and symbol are copied from the table only when
//            they are read
//
// A price that is null or zero removes the venue's quote on that side until its next row. A side
// without any quote is null. A size is the sum over the venues that quote the best price, with
// nulls as 0, in the type of `sum`.
//
// Prices and sizes are shorts, ints, longs, reals or floats. Symbols and venues have any type that
// `by` can group. The number of venues is not limited.
//
// Cost:    one pass over the columns at 20 to 30 ns per row, mostly cache misses when books are
//          updated (best_quotes.h). Each row costs a hash more if the venue's type is wider than
//          one byte, and another if the symbols are not those of a captured table. Memory: the
//          result, and 16 to 32 bytes for each pair of symbol and venue.
// Threads: the rows are cut into as many parts as there are threads. Each part first finds the last
//          row of each symbol and venue in it, which is cheap. Then the quotes at the start of
//          every part are known, and all parts run concurrently, in the table's order. (Cutting by
//          symbol instead would make all threads write the same cache lines of the result.) In a
//          stored table that is parted by symbol, the rows of a symbol are adjacent: there each
//          thread takes whole symbols, and the current book stays in the first-level cache.
// Errors:  `type`, `length`, and the name of a column that is missing.
absl::StatusOr<TableView> Nbbo(const Value& columns, const TableView& table, Budget& budget);

}  // namespace tickstack::query
