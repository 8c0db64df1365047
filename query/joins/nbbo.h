#pragma once

// The national best bid and offer (NBBO): the best prices over all venues at which a symbol trades.
// It is our extension of q: q has no join or aggregate that computes it in one pass.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// nbbo[columns; table]. `columns` names the columns of the symbol, the venue, the bid and the ask,
// and optionally of the bid size and the ask size. Each row of the table is a new quote of a venue.
// The result has a row for each of them, in the same order, with the highest bid and the lowest ask
// over all venues of the symbol after that quote.
//
//   result   time (if the table has that column), symbol, bid, ask[, bid size, ask size], with the
//            names of the table's columns; time and symbol are gathered only when they are needed
//
// A price that is null or zero removes the venue's quote on that side until its next row. If no
// venue quotes a side, its price is null. A size is the sum of the sizes of all venues that quote
// the best price, with nulls as 0, and has the type of `sum`.
//
// Prices and sizes are shorts, ints, longs, reals or floats. Symbols and venues have any type that
// `by` can group. The number of venues is not limited.
//
// Cost:    one pass over the columns at 20 to 30 ns per row, mostly for cache misses in the quotes
//          (best_quotes.h). A row costs a hash more if the venue's type is wider than one byte, and
//          another hash if the table is not a captured one. Memory: the result, and 16 to 32 bytes
//          for each pair of symbol and venue.
// Threads: the rows are divided into one part per thread. The last row of each symbol and venue in
//          each part is found first, which is cheap. This gives the quotes at the start of each
//          part, and all parts then run concurrently. (If the symbols were divided among the
//          threads, all threads would write to the same cache lines of the result.) In a stored
//          table that is parted by symbol, however, the rows of a symbol are adjacent: each thread
//          takes whole symbols, whose quotes stay in the first-level cache.
// Errors:  `type`, `length`, and the name of a column that is missing.
absl::StatusOr<TableView> Nbbo(const Value& columns, const TableView& table, Budget& budget);

}  // namespace tickstack::query
