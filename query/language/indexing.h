#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

// A whole number as an index; a null of any width is that of longs. nullopt: it is no such number.
std::optional<int64_t> IndexOf(const Value& atom);

// Whether a condition holds. Errors: `type` for what is no number or boolean.
absl::StatusOr<bool> IsTrue(const Value& flag);

// x[index]: items of a vector or list, entries of a dictionary, rows or columns of a table. What
// lies outside gives the null of the type.
//
// Cost:   that of the items taken; an atom out of a column does not copy the column.
// Errors: `type` for what is no index of x, the name of a column that is not there.
absl::StatusOr<Term> IndexTerm(Context& context, const Term& x, const Value& index);

// x[i;j...]: what i takes, and of each item of that what j takes. The generic null takes all of its
// level. No index is x itself.
absl::StatusOr<Term> IndexDeep(Context& context, Term x, std::span<const Value> indices);

}  // namespace tickstack::query
