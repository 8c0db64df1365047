#pragma once

// x,:y, which differs from x:x,y: the variable's value keeps its type (code.kx.com/q/ref: join,
// append).
//
//   x               y                                     result
//   vector          an atom or vector of its type         longer
//   list            anything; a value that is one level   longer by y's items, or by y as one item:
//                   less deep than x is one item          ,:"ab" adds a text to a list of texts
//   dictionary      a dictionary whose keys and values    with those entries
//                   have its types
//   table           rows as `upsert` takes them, which    with those rows
//                   may lack columns
//   atom, function  anything                              x,y
//
// Cost:   a copy of x.
// Errors: `type`, and those of `,` and `upsert`.

#include <span>

#include "absl/status/statusor.h"
#include "query/language/term.h"

namespace tickstack::query {

absl::StatusOr<Term> Append(Context& context, Term x, Term y);

}  // namespace tickstack::query
