#pragma once

// The parts of a function, as `value` returns them.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/function.h"
#include "table/value.h"

namespace tickstack::query {

// Returns the parts of a function:
//
//   lambda             (bytecode; parameters; locals; namespace and globals; constants ...; places;
//                      name; file; line; source), where bytecode and places are always empty
//   projection         the function and its arguments
//   composition        its functions
//   derived function   the function that the iterator is applied to
//   operator           its number
//
// Errors: `nyi` for a word of q that is a lambda in q but a built-in here.
absl::StatusOr<Value> PartsOfFunction(const Function& function, Budget& budget);

}  // namespace tickstack::query
