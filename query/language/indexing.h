#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

// Returns a whole number as an index; a null of any type becomes kNullLong. nullopt for any other
// value.
std::optional<int64_t> IndexOf(const Value& atom);

// Returns whether a condition is true. Errors: `type` for anything but a number or boolean.
absl::StatusOr<bool> IsTrue(const Value& flag);

// Returns x[index]: items of a vector or list, values of a dictionary, rows or columns of a table.
// An index outside of x gives the null of the type.
//
// Cost:   that of the returned items; taking an atom from a column does not copy the column.
// Errors: `type` for an invalid index, the name of a missing column.
absl::StatusOr<Term> IndexTerm(Context& context, const Term& x, const Value& index);

// Returns x[i;j...]: j is applied to each item that i selects, and so on. The generic null as an
// index selects all items of its level. Without an index, returns x.
absl::StatusOr<Term> IndexDeep(Context& context, Term x, std::span<const Value> indices);

}  // namespace tickstack::query
