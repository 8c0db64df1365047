#pragma once

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "table/value.h"

namespace tickstack::query {

// Rows and columns exchanged (code.kx.com/q/ref/flip): a dictionary of names and columns is a table
// and the other way round; a list of lists is one of their items by position, where an atom goes
// with all positions.
//
// Errors: `length` for items of different counts, `rank` if all of them are atoms, `type` for keys
//         that are no names, `nyi` for keyed tables.
absl::StatusOr<Value> Flip(const Value& x, Budget& budget);

// Columns under names: atoms are repeated. Errors: as Flip.
absl::StatusOr<Value> TableOfColumns(const SymbolVector& names, std::vector<Value> columns,
                                     Budget& budget);

}  // namespace tickstack::query
