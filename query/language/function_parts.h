#pragma once

// Returns the parts of a function, for `value`.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/function.h"
#include "table/value.h"

namespace tickstack::query {

// The parts of a lambda are (bytecode; parameters; locals; namespace and globals; constants ...;
// places; name; file; line; source); bytecode and places are empty, because there are none here.
// Those of a projection are the function and its arguments, of a composition its functions, of a
// derived function the function of the iterator, and of an operator its number.
//
// Errors: `nyi` for a word of q that is no lambda here.
absl::StatusOr<Value> PartsOfFunction(const Function& function, Budget& budget);

}  // namespace tickstack::query
