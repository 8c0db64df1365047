#pragma once

// Applies the iterators ' / \ ': /: \: (code.kx.com/q/ref: maps, accumulators, each).
//
//   f'[x], f'[x;y..]    f of each item; an atom is combined with every item of the other arguments
//   f/[x], f/[seed;x]   for f of two arguments: folds the items of x
//   f/[x]               for f of one argument: repeats until the value does not change, or is x
//                       again
//   f/[n;x], f/[t;x]    for f of one argument: n times; or while t[value] is true
//   f\                  like f/, but returns the values after all steps
//   f':[x]              f of each item and the previous one
//   x f\: y, x f/: y    f of each item of x and all of y; f of all of x and each item of y
//
// If a built-in does the same for a vector, it is called instead: `sum` for +/, `deltas` for -':.
//
// Every step checks the deadline, and gives back its charges except for its result.

#include <span>

#include "absl/status/statusor.h"
#include "query/language/functions.h"
#include "query/language/term.h"

namespace tickstack::query {

// Applies a derived function to arguments.
absl::StatusOr<Term> ApplyDerived(Context& context, const Derived& derived, std::span<Term> args);

// f each x: applies f to each item of x; for a dictionary, to each value; for a table, to each row,
// which is a dictionary.
absl::StatusOr<Term> ApplyEach(Context& context, const Term& f, std::span<Term> args);

}  // namespace tickstack::query
