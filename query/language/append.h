#pragma once

// x,:y, which is not x:x,y: what a variable holds keeps its type (code.kx.com/q/ref: join, append).
//
//   x               y                                     it then is
//   vector          an atom or vector of its type         longer
//   list            anything; what is one level less      longer by y's items, or by y as one item:
//                   deep than its first item is one item  of a list of texts, ,:"ab" is a text more
//   dictionary      a dictionary, whose keys and values   with those entries
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
