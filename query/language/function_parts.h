#pragma once

// What a function is made of, as `value` tells it.

#include "absl/status/statusor.h"
#include "query/columns/budget.h"
#include "query/language/function.h"
#include "table/value.h"

namespace tickstack::query {

// Of a lambda: (bytecode; parameters; locals; namespace and globals; constants ...; places; name;
// file; line; source), where the bytecode and the places are empty: there are none here. Of a
// projection the function and its arguments, of a composition what it is composed of, of a derived
// function what the iterator is on, of an operator its number.
//
// Errors: `nyi` for a word of q that is no lambda here.
absl::StatusOr<Value> PartsOfFunction(const Function& function, Budget& budget);

}  // namespace tickstack::query
