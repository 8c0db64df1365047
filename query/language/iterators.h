#pragma once

// The iterators ' / \ ': /: \: as functions, as the public reference has them (code.kx.com/q/ref:
// maps, accumulators, each).
//
//   f'[x], f'[x;y..]    item by item; atoms go with every item
//   f/[x], f/[seed;x]   of a function of two: folds; f\ keeps every step
//   f/[x]               of a function of one: until it comes to rest or back to x
//   f/[n;x], f/[t;x]    n times; as long as t of it is true
//   f':[x]              each item with the one before it
//   x f\: y, x f/: y    each item of x, of y, with all of the other
//
// Where a built-in does the same over a vector, it is called instead: +/ is sum, -': deltas.
//
// Bounds: every step looks at the deadline, and what it charged is given back but for what it
// leaves.

#include <span>

#include "absl/status/statusor.h"
#include "query/language/functions.h"
#include "query/language/term.h"

namespace tickstack::query {

absl::StatusOr<Term> ApplyDerived(Context& context, const Derived& derived, std::span<Term> args);

// f each x: the function of one argument of each item. Of a dictionary its values, of a table its
// rows as dictionaries.
absl::StatusOr<Term> ApplyEach(Context& context, const Term& f, std::span<Term> args);

}  // namespace tickstack::query
