#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Exchanges rows and columns (code.kx.com/q/ref/flip). A dictionary from names to columns becomes a
// table, and a table such a dictionary. For a list of lists, item i of the result is the list of
// the i-th items of all lists; an atom among the lists is repeated.
//
// Errors: `length` for items of different counts, `rank` if all of them are atoms, `type` for keys
//         that are not symbols, `nyi` for keyed tables.
absl::StatusOr<Value> Flip(const Value& x, Budget& budget);

// Returns the columns as a table with these names; atoms are repeated. Errors: those of Flip.
absl::StatusOr<Value> TableOfColumns(const SymbolVector& names, std::vector<Value> columns,
                                     Budget& budget);

}  // namespace tickstack::query
