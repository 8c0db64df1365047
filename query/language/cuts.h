#pragma once

#include "absl/status/statusor.h"
#include "query/language/term.h"
#include "table/value.h"

namespace tickstack::query {

// Cuts a list or table into pieces and returns a list of them. Piece i starts at item begins[i] and
// ends where the next piece starts; the last one ends with the list.
//
// Errors: `type` if `begins` are not whole numbers; `domain` if they decrease or exceed the count;
//         `nyi` for a keyed table.
// Cost:   a copy of the pieces.
absl::StatusOr<Term> CutAt(Context& context, const Value& begins, Term term);

}  // namespace tickstack::query
