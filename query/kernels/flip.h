#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Exchanges rows and columns (code.kx.com/q/ref/flip). A dictionary of names and columns becomes a
// table, and vice versa. A list of lists becomes the lists of their items by position, where an
// atom is repeated.
//
// Errors: `length` for items of different counts, `rank` if all of them are atoms, `type` for keys
//         that are no names, `nyi` for keyed tables.
absl::StatusOr<Value> Flip(const Value& x, Budget& budget);

// Returns the columns as a table with these names; atoms are repeated. Errors: those of Flip.
absl::StatusOr<Value> TableOfColumns(const SymbolVector& names, std::vector<Value> columns,
                                     Budget& budget);

}  // namespace tickstack::query
