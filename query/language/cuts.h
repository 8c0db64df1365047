#pragma once

#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

// Cuts a list or table into pieces and returns a list of them: each starts at a number of `begins`,
// which do not decrease, and ends where the next one starts.
// Errors: `type` for begins that are no whole numbers, `domain` if they decrease or exceed the
// count.
// Cost:   that of copying the pieces; those of a table are charged as the table is.
absl::StatusOr<Term> CutAt(Context& context, const Value& begins, Term term);

}  // namespace tickstack::query
