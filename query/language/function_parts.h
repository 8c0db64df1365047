#pragma once

// The parts of a function, as `value` returns them.

#include "absl/status/statusor.h"
#include "query/language/term.h"
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
// A function whose type is that of a lambda, but which is a word of q that is built in here or a
// function of the process, has the parts of a lambda without locals and constants; its source is
// its name.
absl::StatusOr<Value> PartsOfFunction(const Function& function, Context& context);

}  // namespace tickstack::query
