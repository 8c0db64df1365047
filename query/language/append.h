#pragma once

// x,:y. It differs from x:x,y because the variable's value keeps its type (code.kx.com/q/ref: join,
// append).
//
//   x               y                                     result
//   vector          an atom or vector of x's type         x with y's items added
//   list            anything                              x with y's items added; with y as one
//                                                         item if y is one level less deep than x:
//                                                         ,:"ab" adds a text to a list of texts
//   dictionary      a dictionary whose keys and values    x with y's entries added or replaced
//                   have the types of x's
//   table           rows in a form that `upsert` takes;   x with y's rows added
//                   columns may be missing
//   atom, function  anything                              x,y
//
// Cost:   a copy of x.
// Errors: `type`, and those of `,` and `upsert`.

#include <span>

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

// Returns the new value of x.
absl::StatusOr<Term> Append(Context& context, Term x, Term y);

}  // namespace tickstack::query
