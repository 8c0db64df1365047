#pragma once

// The iterators ' / \ ': /: \: as functions, as the public reference has them (code.kx.com/q/ref:
// maps, accumulators, each).
//
//   f'[x], f'[x;y..]    item by item; atoms are combined with every item
//   f/[x], f/[seed;x]   of a function of two arguments: a fold; f\ returns every step
//   f/[x]               of a function of one argument: until it no longer changes, or is x again
//   f/[n;x], f/[t;x]    n times; while t of the value is true
//   f':[x]              each item with the previous one
//   x f\: y, x f/: y    each item of x, or of y, with all of the other
//
// If a built-in does the same over a vector, it is called instead: +/ is sum, -': deltas.
//
// Bounds: every step checks the deadline, and gives back what it charged, except for its result.

#include <span>

#include "absl/status/statusor.h"
#include "query/language/functions.h"
#include "query/language/term.h"

namespace tickstack::query {

absl::StatusOr<Term> ApplyDerived(Context& context, const Derived& derived, std::span<Term> args);

// f each x: the function of one argument applied to each item; for a dictionary to its values, for
// a table to its rows as dictionaries.
absl::StatusOr<Term> ApplyEach(Context& context, const Term& f, std::span<Term> args);

}  // namespace tickstack::query
