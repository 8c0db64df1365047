#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

// Returns a whole number as an index; a null of any width becomes that of longs. nullopt for
// anything else.
std::optional<int64_t> IndexOf(const Value& atom);

// Returns whether a condition is true. Errors: `type` for anything but a number or boolean.
absl::StatusOr<bool> IsTrue(const Value& flag);

// x[index]: items of a vector or list, entries of a dictionary, rows or columns of a table. An
// index outside gives the null of the type.
//
// Cost:   that of the items taken; taking an atom from a column does not copy the column.
// Errors: `type` for an invalid index of x, the name of a missing column.
absl::StatusOr<Term> IndexTerm(Context& context, const Term& x, const Value& index);

// x[i;j...]: applies j to each item that i selects. The generic null selects all of its level.
// Without an index, returns x.
absl::StatusOr<Term> IndexDeep(Context& context, Term x, std::span<const Value> indices);

}  // namespace tickstack::query
