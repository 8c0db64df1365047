#pragma once

#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

// A list or table in pieces, a list of them: each begins at a number of `begins`, which do not go
// down, and ends where the next one begins.
// Errors: `type` for begins that are no whole numbers, `domain` if they go down or beyond the end.
// Cost:   that of copying the pieces; those of a table are charged as the table is.
absl::StatusOr<Term> CutAt(Context& context, const Value& begins, Term term);

}  // namespace tickstack::query
