#pragma once

// The national best bid and offer: an extension of q, since every feed handler of a market with
// several venues needs it and no join or aggregate of q gives it in one pass.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/columns/table_view.h"
#include "table/value.h"

namespace tickstack::query {

// nbbo[columns; table]. `columns` names those of the symbol, the venue, the bid and the ask, and if
// wanted the bid's and the ask's size. For every row, in the order of the table: after that row's
// quote, the highest bid and the lowest ask among the last quotes of all venues of its symbol.
//
//   result   time (if the table has that column), symbol, bid, ask[, bid size, ask size], under the
//            names that they have in the table; time and symbol are deferred
//
// A price that is null or zero is no quote: the venue has none on that side until its next row. A
// side without any quote is null. A size is the sum over the venues that quote the best price, with
// nulls as 0, in the type that `sum` has.
//
// Prices and sizes are shorts, ints, longs, reals or floats; symbols and venues of any type that
// `by` groups. Any number of venues.
//
// Cost:    one pass over the columns, some 20 to 30 ns a row, most of it misses of the books (see
//          best_quotes.h); a hash a row for a venue of more than a byte, or symbols that are not
//          captured. Memory: the result, and 16 to 32 bytes for each symbol times venue.
// Threads: the rows are cut into as many parts as there are threads. Each part first finds the last
//          row of each symbol and venue in it, which is cheap; then every part knows what the
//          quotes are where it begins, and all run at once, in the order of the table. (Cutting by
//          symbol instead makes all threads write the same lines of the result.) Of a stored table
//          that is parted by symbol, each symbol's rows lie together: there threads take symbols,
//          and the book in hand stays in the first-level cache.
// Errors:  `type`, `length`, and the name of a column that is missing.
absl::StatusOr<TableView> Nbbo(const Value& columns, const TableView& table, Budget& budget);

}  // namespace tickstack::query
